#include <shoal/kmeans/distances.hpp>

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/check_model.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
void measure(const model& model, const row_source<Scalar>& rows, Scalar* out, std::size_t threads,
             std::size_t memory_limit, const control& control, const device_choice& device) {
  check_model(model, rows.columns());
  const std::unique_ptr<executor> workers = make_executor(threads);
  const fold_context context = context_of(*workers, memory_limit, control);
  const auto on = make_backend<Scalar>(device, {context, &rows});
  check_span<double>(on->summary(), model.centroids);
  on->distances(model, out);
}

}  // namespace

void distances(const model& model, const row_source<float>& rows, float* distances, std::size_t threads,
               std::size_t memory_limit, const control& control, const device_choice& device) {
  measure(model, rows, distances, threads, memory_limit, control, device);
}

void distances(const model& model, const row_source<double>& rows, double* distances, std::size_t threads,
               std::size_t memory_limit, const control& control, const device_choice& device) {
  measure(model, rows, distances, threads, memory_limit, control, device);
}

}  // namespace shoal::kmeans
