// The stepper of each scheme that runs on GPUs.
#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/cuda/crank_nicolson.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_steps.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_stepper(const problem& wave, const options& how, double accuracy) {
  if (how.scheme == scheme::explicit_steps && how.order == 2) {
    return make_device_explicit_steps<Scalar>(wave, how.step > 0 ? how.step : 0.9 * longest_explicit_step(wave),
                                              how.device.cuda);
  }
  if (how.scheme != scheme::crank_nicolson) {
    throw bad_argument(
        "on CUDA devices the scheme is explicit_steps of order 2, or crank_nicolson; the others run on the cpu");
  }
  if (wave.boundary == boundary::periodic) {
    throw bad_argument("on CUDA devices crank_nicolson needs ends; with boundary periodic it runs on the cpu");
  }
  if (how.device.cuda.size() != 1) {
    throw bad_argument(
        fmt::format("crank_nicolson runs on one CUDA device; got {}. Name one, or use scheme explicit_steps",
                    how.device.cuda.size()));
  }
  return make_device_crank_nicolson<Scalar>(wave, how.step > 0 ? how.step : 0.1, accuracy, how.device.cuda.front());
}

template std::unique_ptr<stepper<double>> make_device_stepper<double>(const problem&, const options&, double);
template std::unique_ptr<stepper<float>> make_device_stepper<float>(const problem&, const options&, double);

}  // namespace shoal::reaction_diffusion
