// One step of stepwise expectation-maximisation for rows that come in batches.
#include <shoal/gmm/update.hpp>

#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/backend.hpp>
#include <shoal/gmm/check_model.hpp>
#include <shoal/gmm/check_reach.hpp>
#include <shoal/gmm/chunked/stepwise.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>

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
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options, row_weights weights,
                   const control& control, batches_seen* seen) {
  check_options(options);
  validate_model(model);
  if (rows.columns() != model.columns) {
    throw bad_argument(fmt::format("the model has {} columns; the data have {}", model.columns, rows.columns()));
  }
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  require_one_rank(control.ranks, "update()", "use fit()");
  const fold_context context = context_of(*workers, options.memory_limit, control);
  const auto on = make_backend<Scalar>(options.device, {context, &rows, weights});
  check_span<Scalar>(on->summary(), model.means);
  check_reach<Scalar>(model, on->summary());
  const double weight = on->summary().total_weight;
  const double step_size = seen == nullptr ? options.step_size : seen->next_step(options.step_size, weight);
  const statistics batch = on->expectation(model);
  const std::vector<double> centres =
      prepare_centres<Scalar>(model.covariance_type, model.components, model.columns, model.means.data()).centres;
  statistics closer;
  const auto again = [&](const parameters<Scalar>& about) -> const statistics& {
    return closer = on->expectation_about(model, about);
  };
  mix<Scalar>(model, batch, centres, step_size, options.regularization, workers.get(), again);
  if (seen != nullptr) seen->take(weight);
  return batch.log_likelihood() / batch.total_weight();
}

}  // namespace

double update(model& model, const row_source<float>& rows, const update_options& options, row_weights weights,
              const control& control, batches_seen* seen) {
  return update_rows(model, rows, options, weights, control, seen);
}

double update(model& model, const row_source<double>& rows, const update_options& options, row_weights weights,
              const control& control, batches_seen* seen) {
  return update_rows(model, rows, options, weights, control, seen);
}

}  // namespace shoal::gmm
