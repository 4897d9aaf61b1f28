// Statistics of maps as users have them: made, combined, maximised.
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/som/accumulate.hpp>
#include <shoal/som/batch_training.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/check_options.hpp>
#include <shoal/som/codebook_index.hpp>
#include <shoal/som/fingerprint.hpp>
#include <shoal/som/maximise.hpp>
#include <shoal/som/schedule.hpp>
#include <shoal/som/statistics.hpp>
#include <shoal/som/statistics_contents.hpp>

namespace shoal::som {

namespace {

void rescale(statistics& value, double factor) {
  for (double& weight : value.weights) weight *= factor;
  for (double& sum : value.sums) sum *= factor;
  value.error *= factor;
}

// From sums about one centre to those about another.
void translate(statistics& value, const std::vector<double>& from, const std::vector<double>& to) {
  const std::size_t columns = from.size();
  for (std::size_t u = 0; u < value.weights.size(); ++u) {
    for (std::size_t j = 0; j < columns; ++j) value.sums[u * columns + j] += value.weights[u] * (from[j] - to[j]);
  }
}

partial_statistics<statistics_monoid> about(partial_statistics<statistics_monoid> moved,
                                            const std::vector<double>& centre) {
  if (moved.centre == centre) return moved;
  for (auto& each : moved.sums.subtrees) translate(each.value, moved.centre, centre);
  if (moved.sums.loose) translate(*moved.sums.loose, moved.centre, centre);
  moved.centre = centre;
  return moved;
}

void check_centre(const std::vector<double>& centre, std::size_t columns) {
  if (centre.size() != columns) {
    throw bad_argument(
        fmt::format("the centre must be {} values, one for each column; got {}", columns, centre.size()));
  }
  for (std::size_t j = 0; j < columns; ++j) {
    if (std::isfinite(centre[j])) continue;
    throw bad_argument(fmt::format("the centre is {} in column {} (counting from 0); it must be finite", centre[j], j));
  }
}

template <class Scalar>
model_statistics accumulate_rows(const model& model, const row_source<Scalar>& rows, const accumulate_options& options,
                                 row_weights weights, const control& control) {
  require_one_rank(control.ranks, "accumulate()", "give each rank a part of the rows, and combine");
  check_model(model, rows.columns());
  if (!options.centre.empty()) check_centre(options.centre, model.columns);
  if (!options.device.on_host()) {
    throw bad_argument(fmt::format("statistics of maps are summed on the host: choose the device cpu; got {}",
                                   device_name(options.device)));
  }
  check_precision(options.device, sizeof(Scalar) == 8);
  model_statistics::contents made{{{}, model.columns, {}, statistics_monoid{model.units(), model.columns}, {}, {}}};
  made.identity = {
      std::string(statistics_family),
      sizeof(Scalar),
      {{std::string(statistics_shape[0]), model.units()}, {std::string(statistics_shape[1]), model.columns}},
      fingerprint(model)};
  checked_part<Scalar> part(rows, weights, options.part, options.threads, options.memory_limit, control);
  check_span<double>(part.summary(), model.codebook);
  made.centre = options.centre.empty() ? centre_of<Scalar>(part.summary()) : options.centre;
  codebook_index<Scalar> index;
  index.set(model.metric, model.codebook, model.units(), model.columns);
  part.fold_into(made, accumulate_body<Scalar>{&index, made.centre.data(), nullptr}, rescale);
  return model_statistics(std::make_shared<const model_statistics::contents>(std::move(made)));
}

void take_out(statistics& from, const statistics& what) {
  for (std::size_t u = 0; u < from.weights.size(); ++u) from.weights[u] = weight_left(from.weights[u], what.weights[u]);
  for (std::size_t i = 0; i < from.sums.size(); ++i) from.sums[i] -= what.sums[i];
  from.error = weight_left(from.error, what.error);
}

}  // namespace

std::size_t model_statistics::units() const { return contents_->monoid.units; }
std::size_t model_statistics::columns() const { return contents_->columns; }
double model_statistics::total_weight() const { return contents_->checked().weight; }
double model_statistics::quantization_error() const { return sums().error / total_weight(); }
std::vector<double> model_statistics::centre() const { return contents_->centre; }
std::vector<double> model_statistics::row_mean() const {
  std::vector<double> mean = contents_->checked().mean;
  if (scalar_bytes() == 4) {
    for (double& value : mean) value = static_cast<double>(static_cast<float>(value));
  }
  return mean;
}
std::size_t model_statistics::rows() const { return contents_->rows(); }
bool model_statistics::whole() const { return contents_->whole(); }
std::size_t model_statistics::scalar_bytes() const { return contents_->identity.scalar_bytes; }
std::uint64_t model_statistics::fingerprint() const { return contents_->identity.model; }
statistics model_statistics::sums() const { return contents_->total(); }

model_statistics accumulate(const model& model, const row_source<float>& rows, const accumulate_options& options,
                            row_weights weights, const control& control) {
  return accumulate_rows(model, rows, options, weights, control);
}
model_statistics accumulate(const model& model, const row_source<double>& rows, const accumulate_options& options,
                            row_weights weights, const control& control) {
  return accumulate_rows(model, rows, options, weights, control);
}
model_statistics accumulate(const model& model, matrix_view<const float> rows, const accumulate_options& options) {
  return accumulate(model, view_source<float>(rows), options);
}
model_statistics accumulate(const model& model, matrix_view<const double> rows, const accumulate_options& options) {
  return accumulate(model, view_source<double>(rows), options);
}

model_statistics combine(const model_statistics& a, const model_statistics& b) {
  require_same(a.inside().identity, b.inside().identity, 0, 0, "combined");
  return model_statistics(std::make_shared<const model_statistics::contents>(
      model_statistics::contents{combined<statistics_monoid>(a.inside(), about(b.inside(), a.inside().centre))}));
}

model_statistics subtract(const model_statistics& a, const model_statistics& b) {
  require_same(a.inside().identity, b.inside().identity, 0, 0, "subtracted");
  return model_statistics(std::make_shared<const model_statistics::contents>(model_statistics::contents{
      subtracted<statistics_monoid>(a.inside(), about(b.inside(), a.inside().centre), take_out)}));
}

model maximise(const model_statistics& statistics, const model& previous, const maximise_options& options) {
  check_model(previous, statistics.columns());
  require_model(statistics.inside().identity, fingerprint(previous));
  check_options(update_options{options.neighborhood, options.cutoff, options.radius, 1, options.threads, 0, {}});
  som::statistics sums = statistics.sums();
  // The least pull that counts is in units of the weights that a fit folds.
  if (statistics.total_weight() > 0) rescale(sums, 1 / fold_scale(statistics.inside().checked()));
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  unit_mover mover(shape_of(previous), previous.columns);
  model next = previous;
  mover(*workers, {options.neighborhood, options.radius, options.cutoff}, sums, statistics.inside().centre, 1,
        next.codebook);
  return next;
}

double radius_of(const options& options, std::size_t epoch) {
  check_options(options);
  if (options.training == training::online) {
    throw bad_argument(
        "online training takes a step for each row and is no sum over rows: it has no statistics; use batch training");
  }
  return decayed(options.radius_decay, radius_range(options), epoch, options.epochs);
}

std::vector<std::size_t> cut_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, std::size_t parts) {
  check_model(model);
  return cuts_of(statistics_monoid{model.units(), model.columns}, rows, model.columns, scalar_bytes, parts);
}

}  // namespace shoal::som
