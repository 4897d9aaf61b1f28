// Preparing the rows of a fit.
#include "common/fit_rows.hpp"

#include <utility>

#include <shoal/execution/executor.hpp>

#include "common/ranks.hpp"

namespace shoal::app {

template <class Scalar>
fit_rows<Scalar>::fit_rows(data_set<Scalar> data, bool wanted, const run_options& run, std::stop_token stop)
    : data_(std::move(data)) {
  if (!wanted) return;
  const std::unique_ptr<executor> workers = make_threads(run.threads);
  const fold_context context{workers.get(), run.memory_limit, std::move(stop), ranks()};
  units_ = std::make_unique<standardization>(standardize(check_data(context, data_.rows(), data_.weights())));
  standardized_ = std::make_unique<standardized_source<Scalar>>(data_.rows(), *units_);
}
template class fit_rows<float>;
template class fit_rows<double>;

}  // namespace shoal::app
