#include <shoal/gmm/cuda/choose_fit.hpp>

#include <utility>

#include <shoal/core/error.hpp>
#include <shoal/gmm/choose_fit.hpp>
#include <shoal/gmm/cuda/chunked/asynchronous.hpp>
#include <shoal/gmm/cuda/chunked/block_models.hpp>
#include <shoal/gmm/cuda/chunked/incremental.hpp>
#include <shoal/gmm/cuda/chunked/stepwise.hpp>
#include <shoal/gmm/cuda/expectation_maximization.hpp>
#include <shoal/gmm/cuda/step/squarem.hpp>

namespace shoal::gmm {

template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<Scalar>& rows) {
  check_algorithm(rows.options.algorithm, rows.context.ranks);
  switch (rows.options.algorithm) {
    case algorithm::batch: {
      auto batch = std::make_unique<device_expectation_maximization<Scalar>>(rows);
      if (rows.options.acceleration == acceleration::none) return batch;
      return std::make_unique<device_squarem_fit<Scalar>>(std::move(batch), rows.summary, rows.options);
    }
    case algorithm::incremental:
      return make_incremental(rows);
    case algorithm::asynchronous:
      if (rows.options.chunks.memberships || rows.options.chunks.local_models) return make_block_models(rows);
      return make_asynchronous(rows);
    case algorithm::stepwise:
      return make_stepwise(rows);
  }
  throw bad_argument("unknown algorithm");
}
template std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_device_fit(const device_fit_rows<double>&);

}  // namespace shoal::gmm
