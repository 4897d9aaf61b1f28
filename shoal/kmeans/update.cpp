// k-means on batches: every centroid is the weighted mean of all rows that it was ever given.
#include <shoal/kmeans/update.hpp>

#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/check_model.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {
namespace {

void check_seen(const std::vector<double>& seen, std::size_t clusters) {
  if (seen.size() != clusters) {
    throw bad_argument(
        fmt::format("the weights seen so far must be one for each of the {} clusters; got {}", clusters, seen.size()));
  }
  for (std::size_t k = 0; k < clusters; ++k) {
    if (std::isfinite(seen[k]) && seen[k] >= 0) continue;
    throw bad_argument(
        fmt::format("the weight seen by cluster {} is {}; it must be finite and not negative", k, seen[k]));
  }
}

template <class Scalar>
double update_rows(model& model, std::vector<double>& seen, const row_source<Scalar>& rows, std::int32_t* labels,
                   std::size_t threads, std::size_t memory_limit, row_weights weights, const control& control,
                   const device_choice& device) {
  check_model(model, rows.columns());
  check_seen(seen, model.clusters);
  const std::unique_ptr<executor> workers = make_executor(threads);
  require_one_rank(control.ranks, "update()", "use fit()");
  const fold_context context = context_of(*workers, memory_limit, control);
  const std::unique_ptr<backend<Scalar>> on = make_backend<Scalar>(device, {context, &rows, weights});
  check_span<double>(on->summary(), model.centroids);
  const statistics batch = on->predict(model, labels);
  for (std::size_t k = 0; k < model.clusters; ++k) {
    if (!(batch.weights[k] > 0)) continue;
    seen[k] += batch.weights[k];
    for (std::size_t j = 0; j < model.columns; ++j) {
      model.centroids[k * model.columns + j] += batch.sums[k * model.columns + j] / seen[k];
    }
  }
  return batch.inertia;
}

}  // namespace

double update(model& model, std::vector<double>& seen, const row_source<float>& rows, std::int32_t* labels,
              std::size_t threads, std::size_t memory_limit, row_weights weights, const control& control,
              const device_choice& device) {
  return update_rows(model, seen, rows, labels, threads, memory_limit, weights, control, device);
}

double update(model& model, std::vector<double>& seen, const row_source<double>& rows, std::int32_t* labels,
              std::size_t threads, std::size_t memory_limit, row_weights weights, const control& control,
              const device_choice& device) {
  return update_rows(model, seen, rows, labels, threads, memory_limit, weights, control, device);
}

}  // namespace shoal::kmeans
