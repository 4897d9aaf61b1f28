#include <shoal/kmeans/fit.hpp>

#include <chrono>
#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/check_options.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
fit_result fit_rows(const row_source<Scalar>& rows, const options& options, row_weights weights,
                    const control& control) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  const std::unique_ptr<executor> workers = make_threads(options.threads);
  const fold_context context = context_of(*workers, options.memory_limit, control);
  const std::unique_ptr<backend<Scalar>> on =
      make_backend<Scalar>(options.device, {context, &rows, weights, !options.checkpoint.empty()});
  fit_result result = fit(*on, options, control);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace

fit_result fit(const row_source<float>& rows, const options& options, row_weights weights, const control& control) {
  return fit_rows(rows, options, weights, control);
}
fit_result fit(const row_source<double>& rows, const options& options, row_weights weights, const control& control) {
  return fit_rows(rows, options, weights, control);
}
fit_result fit(matrix_view<const float> rows, const options& options) {
  return fit_rows<float>(view_source<float>(rows), options, nullptr, {});
}
fit_result fit(matrix_view<const double> rows, const options& options) {
  return fit_rows<double>(view_source<double>(rows), options, nullptr, {});
}

}  // namespace shoal::kmeans
