#include <shoal/kmeans/predict.hpp>

#include <memory>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/device_ranks.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/check_model.hpp>
#include <shoal/kmeans/statistics.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
double predict_rows(const model& model, const row_source<Scalar>& rows, std::int32_t* labels, std::size_t threads,
                    std::size_t memory_limit, row_weights weights, const control& control,
                    const device_choice& device) {
  check_model(model, rows.columns());
  const std::unique_ptr<executor> workers = make_threads(threads);
  const fold_context context = context_of(*workers, memory_limit, control);
  const std::unique_ptr<backend<Scalar>> on = make_backend<Scalar>(device, {context, &rows, weights});
  check_span<double>(on->summary(), model.centroids);
  return on->predict(model, labels).inertia;
}

}  // namespace

double predict(const model& model, const row_source<float>& rows, std::int32_t* labels, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_rows(model, rows, labels, threads, memory_limit, weights, control, device);
}
double predict(const model& model, const row_source<double>& rows, std::int32_t* labels, std::size_t threads,
               std::size_t memory_limit, row_weights weights, const control& control, const device_choice& device) {
  return predict_rows(model, rows, labels, threads, memory_limit, weights, control, device);
}

row_range predicted_rows(const model& model, std::size_t rows, std::size_t scalar_bytes, communicator* ranks,
                         const device_choice& device) {
  if (!device.on_host()) return device_rows_of_rank(ranks, rows, model.columns * scalar_bytes);
  return rows_of_rank(ranks,
                      {rows, model.columns, scalar_bytes, statistics_monoid{model.clusters, model.columns}.bytes()});
}

}  // namespace shoal::kmeans
