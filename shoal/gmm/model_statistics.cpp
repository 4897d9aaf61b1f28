// Statistics of mixtures as users have them: made, combined, maximised.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_model.hpp>
#include <shoal/gmm/check_reach.hpp>
#include <shoal/gmm/fingerprint.hpp>
#include <shoal/gmm/jump.hpp>
#include <shoal/gmm/maximise.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/statistics_contents.hpp>

namespace shoal::gmm {

namespace {

// The number of rows done again is no weight.
void rescale(statistics& value, double factor) {
  const double far_rows = value.far_rows();
  for (double& sum : value.values()) sum *= factor;
  value.values()[statistics_layout::far_rows()] = far_rows;
}

template <class Scalar>
model_statistics accumulate_rows(const model& model, const row_source<Scalar>& rows, const accumulate_options& options,
                                 row_weights weights, const control& control) {
  require_one_rank(control.ranks, "accumulate()", "give each rank a part of the rows, and combine");
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns; the data have {}", model.columns, rows.columns()));
  }
  const statistics_layout layout(model.covariance_type, model.components, model.columns);
  model_statistics::contents made{{{}, model.columns, {}, statistics_group(layout), {}, {}}};
  made.identity = {std::string(statistics_family),
                   sizeof(Scalar),
                   {{std::string(statistics_shape[0]), static_cast<std::uint64_t>(model.covariance_type)},
                    {std::string(statistics_shape[1]), model.components},
                    {std::string(statistics_shape[2]), model.columns}},
                   fingerprint(model)};
  check_precision(options.device, sizeof(Scalar) == 8);
  if (options.device.on_host()) {
    checked_part<Scalar> part(rows, weights, options.part, options.threads, options.memory_limit, control);
    check_span<Scalar>(part.summary(), model.means);
    check_reach<Scalar>(model, part.summary());
    const parameters<Scalar> components = prepare<Scalar>(model, part.context().workers);
    part.fold_into(made, accumulation<Scalar>{&components}, rescale);
  } else {
    refuse_part_on_device(options.part);
    const std::unique_ptr<executor> workers = make_executor(options.threads);
    const fold_context context{workers.get(), options.memory_limit, control.stop, nullptr};
    const auto on = make_backend<Scalar>(options.device, {context, &rows, weights});
    check_span<Scalar>(on->summary(), model.means);
    check_reach<Scalar>(model, on->summary());
    statistics value = on->expectation(model);
    rescale(value, weight_scale(on->summary().largest_weight));
    fill_from_device(made, std::move(value), on->summary());
  }
  return model_statistics(std::make_shared<const model_statistics::contents>(std::move(made)));
}

void take_out(statistics& from, const statistics& what) {
  const statistics_layout& layout = from.layout();
  std::vector<double> weights;
  for (std::size_t k = 0; k < layout.components(); ++k) weights.push_back(weight_left(from.weight(k), what.weight(k)));
  const double total = weight_left(from.total_weight(), what.total_weight());
  statistics_group(layout).subtract_from(from, what);
  for (std::size_t k = 0; k < layout.components(); ++k) from.values()[layout.weight(k)] = weights[k];
  from.values()[layout.total_weight()] = total;
}

}  // namespace

covariance_type model_statistics::type() const { return contents_->monoid.layout().type(); }
std::size_t model_statistics::components() const { return contents_->monoid.layout().components(); }
std::size_t model_statistics::columns() const { return contents_->columns; }
double model_statistics::total_weight() const { return sums().total_weight(); }
double model_statistics::log_likelihood() const { return sums().log_likelihood(); }
double model_statistics::mean_log_likelihood() const {
  const statistics all = sums();
  return all.log_likelihood() / all.total_weight();
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
  return model_statistics(std::make_shared<const model_statistics::contents>(
      model_statistics::contents{combined<statistics_group>(a.inside(), b.inside())}));
}

model_statistics subtract(const model_statistics& a, const model_statistics& b) {
  return model_statistics(std::make_shared<const model_statistics::contents>(
      model_statistics::contents{subtracted<statistics_group>(a.inside(), b.inside(), take_out)}));
}

model maximise(const model_statistics& statistics, const model& previous, const maximise_options& options) {
  validate_model(previous);
  require_model(statistics.inside().identity, fingerprint(previous));
  if (!(std::isfinite(options.regularization) && options.regularization >= 0)) {
    throw bad_argument(fmt::format("regularization must be finite and not negative; got {}", options.regularization));
  }
  gmm::statistics sums = statistics.sums();
  // The least weight that counts is in units of the weights that a fit folds.
  if (sums.total_weight() > 0) rescale(sums, 1 / fold_scale(statistics.inside().checked()));
  const auto centres_of = [&]<class Scalar>(Scalar) {
    return prepare_centres<Scalar>(previous.covariance_type, previous.components, previous.columns,
                                   previous.means.data())
        .centres;
  };
  const std::vector<double> centres = statistics.scalar_bytes() == 4 ? centres_of(0.0f) : centres_of(0.0);
  model next = previous;
  if (maximise(sums, centres, options.regularization, next).size() == previous.components) {
    throw numerical_error("no component has rows: the statistics have no weight; accumulate rows of positive weight");
  }
  const std::size_t scalar_bytes = statistics.scalar_bytes();
  if (const auto found = find_jump(sums, centres, options.regularization, next, jump_limit_of(scalar_bytes))) {
    throw numerical_error(fmt::format("{}; accumulate under a model whose means lie nearer to the rows{}",
                                      describe(*found, scalar_bytes),
                                      scalar_bytes == 4 ? ", or accumulate float64 rows" : ""));
  }
  return next;
}

std::vector<std::size_t> cut_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, std::size_t parts) {
  validate_model(model);
  const statistics_group group(statistics_layout(model.covariance_type, model.components, model.columns));
  return cuts_of(group, rows, model.columns, scalar_bytes, parts);
}

}  // namespace shoal::gmm
