// Statistics of k-means as users have them: made, combined, maximised.
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/check_model.hpp>
#include <shoal/kmeans/fingerprint.hpp>
#include <shoal/kmeans/maximise.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/kmeans/statistics_contents.hpp>

namespace shoal::kmeans {

namespace {

template <class Scalar>
model_statistics accumulate_rows(const model& model, const row_source<Scalar>& rows, const accumulate_options& options,
                                 row_weights weights, const control& control) {
  require_one_rank(control.ranks, "accumulate()", "give each rank a part of the rows, and combine");
  check_model(model, rows.columns());
  model_statistics::contents made{{{}, model.columns, {}, statistics_monoid{model.clusters, model.columns}, {}, {}}};
  made.identity = {
      std::string(statistics_family),
      sizeof(Scalar),
      {{std::string(statistics_shape[0]), model.clusters}, {std::string(statistics_shape[1]), model.columns}},
      fingerprint(model)};
  check_precision(options.device, sizeof(Scalar) == 8);
  if (options.device.on_host()) {
    checked_part<Scalar> part(rows, weights, options.part, options.threads, options.memory_limit, control);
    check_span<double>(part.summary(), model.centroids);
    prepared_centroids<Scalar> centroids;
    centroids.set(model.centroids, model.clusters, model.columns, part.whole(), part.context().workers);
    part.fold_into(made, accumulate_body<Scalar>{&centroids},
                   [](statistics& value, double scale) { value = in_callers_weights(std::move(value), scale); });
  } else {
    refuse_part_on_device(options.part);
    const std::unique_ptr<executor> workers = make_executor(options.threads);
    const fold_context context{workers.get(), options.memory_limit, control.stop, nullptr};
    const auto on = make_backend<Scalar>(options.device, {context, &rows, weights});
    check_span<double>(on->summary(), model.centroids);
    fill_from_device(made, on->predict(model, nullptr), on->summary());
  }
  return model_statistics(std::make_shared<const model_statistics::contents>(std::move(made)));
}

void take_out(statistics& from, const statistics& what) {
  for (std::size_t k = 0; k < from.weights.size(); ++k) from.weights[k] = weight_left(from.weights[k], what.weights[k]);
  for (std::size_t i = 0; i < from.sums.size(); ++i) from.sums[i] -= what.sums[i];
  from.inertia = weight_left(from.inertia, what.inertia);
  from.fingerprint -= what.fingerprint;
}

}  // namespace

std::size_t model_statistics::clusters() const { return contents_->monoid.clusters; }
std::size_t model_statistics::columns() const { return contents_->columns; }
double model_statistics::total_weight() const { return contents_->checked().weight; }
double model_statistics::inertia() const { return sums().inertia; }
std::uint64_t model_statistics::label_fingerprint() const { return sums().fingerprint; }
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
      model_statistics::contents{combined<statistics_monoid>(a.inside(), b.inside())}));
}

model_statistics subtract(const model_statistics& a, const model_statistics& b) {
  return model_statistics(std::make_shared<const model_statistics::contents>(
      model_statistics::contents{subtracted<statistics_monoid>(a.inside(), b.inside(), take_out)}));
}

model maximise(const model_statistics& statistics, const model& previous) {
  check_model(previous, statistics.columns());
  require_model(statistics.inside().identity, fingerprint(previous));
  const view_source<double> no_rows({nullptr, 0, previous.columns});
  model next = previous;
  next.centroids = move_centroids<double>(previous.centroids, statistics.sums(), no_rows, [](std::size_t) {
                     return std::vector<far_row>();
                   }).centroids;
  return next;
}

std::vector<std::size_t> cut_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, std::size_t parts) {
  check_model(model, model.columns);
  return cuts_of(statistics_monoid{model.clusters, model.columns}, rows, model.columns, scalar_bytes, parts);
}

}  // namespace shoal::kmeans
