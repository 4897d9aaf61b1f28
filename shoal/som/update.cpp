#include <shoal/som/update.hpp>

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/som/backend.hpp>
#include <shoal/som/backend_fit.hpp>
#include <shoal/som/check_model.hpp>
#include <shoal/som/check_options.hpp>

namespace shoal::som {
namespace {

template <class Scalar>
double update_rows(model& model, const row_source<Scalar>& rows, const update_options& options, std::int32_t* units,
                   row_weights weights, const control& control, batches_seen* seen) {
  check_model(model, rows.columns());
  check_options(options);
  const std::unique_ptr<executor> workers = make_executor(options.threads);
  require_one_rank(control.ranks, "update()", "use fit()");
  const fold_context context = context_of(*workers, options.memory_limit, control);
  return update(*make_backend<Scalar>(options.device, {context, &rows, weights}), model, options, units, seen);
}

}  // namespace

double update(model& model, const row_source<float>& rows, const update_options& options, std::int32_t* units,
              row_weights weights, const control& control, batches_seen* seen) {
  return update_rows(model, rows, options, units, weights, control, seen);
}

double update(model& model, const row_source<double>& rows, const update_options& options, std::int32_t* units,
              row_weights weights, const control& control, batches_seen* seen) {
  return update_rows(model, rows, options, units, weights, control, seen);
}

}  // namespace shoal::som
