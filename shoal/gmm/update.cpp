// One step of stepwise expectation-maximisation for rows that come in batches.
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/gmm.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/stepwise.hpp>

namespace shoal::gmm {
namespace {

void check_options(const update_options& options) {
  if (!(options.step_size > 0 && options.step_size <= 1)) {
    throw bad_argument(
        fmt::format("the step size must be greater than zero and at most one; got {}", options.step_size));
  }
  if (!(std::isfinite(options.regularization) && options.regularization >= 0)) {
    throw bad_argument(fmt::format("regularization must be finite and not negative; got {}", options.regularization));
  }
}

template <class Scalar>
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options,
                   const row_source<Scalar>* weights, const control& control) {
  check_options(options);
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns and the data have {}", model.columns, rows.columns()));
  }
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  const fold_context context{workers.get(), options.memory_limit, control.stop};
  const data_summary summary = check_data(context, rows, weights);
  const scaled_rows<Scalar> scaled(rows, weights, summary);
  const parameters<Scalar> prepared = prepare<Scalar>(model, workers.get());
  const statistics_layout layout(model.covariance_type, model.components, model.columns);
  const statistics batch =
      fold<Scalar>(context, scaled.data(), statistics_group(layout), accumulation<Scalar>{&prepared});

  mix(model, batch, prepared.centres, options.step_size, options.regularization, workers.get());
  return batch.log_likelihood() / batch.total_weight();
}

}  // namespace

double update(model& model, const row_source<float>& rows, const update_options& options,
              const row_source<float>* weights, const control& control) {
  return update_rows(model, rows, options, weights, control);
}

double update(model& model, const row_source<double>& rows, const update_options& options,
              const row_source<double>* weights, const control& control) {
  return update_rows(model, rows, options, weights, control);
}

}  // namespace shoal::gmm
