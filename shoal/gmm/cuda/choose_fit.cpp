#include <shoal/gmm/cuda/choose_fit.hpp>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/gmm/check_options.hpp>
#include <shoal/gmm/cuda/chunked/asynchronous.hpp>
#include <shoal/gmm/cuda/chunked/block_models.hpp>
#include <shoal/gmm/cuda/chunked/incremental.hpp>
#include <shoal/gmm/cuda/chunked/stepwise.hpp>

namespace shoal::gmm {

template <class Scalar>
std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<Scalar>& fit) {
  switch (fit.options.algorithm) {
    case algorithm::incremental:
      return make_device_incremental(fit);
    case algorithm::asynchronous:
      if (fit.options.chunks.memberships || fit.options.chunks.local_models) {
        return make_device_block_models(fit);
      }
      return make_device_asynchronous(fit);
    case algorithm::stepwise:
      return make_device_stepwise(fit);
    default:
      throw bad_argument(fmt::format("{} has no chunks on CUDA devices", name_of(fit.options.algorithm)));
  }
}
template std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<float>&);
template std::unique_ptr<mixture_stepper> make_device_chunked_fit(const device_fit_rows<double>&);

}  // namespace shoal::gmm
