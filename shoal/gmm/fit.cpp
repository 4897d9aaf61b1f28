#include <shoal/gmm/fit.hpp>

#include <chrono>
#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/backend_fit.hpp>
#include <shoal/gmm/check_options.hpp>

namespace shoal::gmm {
namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

template <class Scalar>
fit_result fit_rows(const row_source<Scalar>& rows, const options& options, row_weights weights,
                    const control& control) {
  const clock::time_point start = clock::now();
  validate_options(options, rows.columns());
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context = context_of(*workers, options.memory_limit, control);
  const std::unique_ptr<backend<Scalar>> on =
      make_backend<Scalar>(options.device, {context, &rows, weights, !options.checkpoint.empty()});
  fit_result result = fit(*on, options, control);
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace

fit_result fit(const row_source<float>& rows, const options& options, row_weights weights, const control& control) {
  return fit_rows(rows, options, weights, control);
}

fit_result fit(const row_source<double>& rows, const options& options, row_weights weights, const control& control) {
  return fit_rows(rows, options, weights, control);
}

fit_result fit(matrix_view<const float> rows, const options& options) { return fit(view_source<float>(rows), options); }

fit_result fit(matrix_view<const double> rows, const options& options) {
  return fit(view_source<double>(rows), options);
}

}  // namespace shoal::gmm
