// The stepper of each scheme that runs on GPUs.
#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/cuda/crank_nicolson.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_steps.hpp>
#include <shoal/reaction_diffusion/cuda/split_steps.hpp>
#include <shoal/reaction_diffusion/cuda/tr_bdf2.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_stepper(const problem& wave, const options& how, double accuracy) {
  if (wave.is_varied()) {
    throw bad_argument("noise, coupled axons and coefficients that differ from node to node run on the cpu");
  }
  if (wave.has_input() && wave.grid.rows > 1) throw bad_argument("input in the plane runs on the cpu");
  if (how.scheme == scheme::explicit_steps && how.order == 2) {
    return make_device_explicit_steps<Scalar>(wave, how.step > 0 ? how.step : 0.9 * longest_explicit_step(wave),
                                              how.device.cuda);
  }
  const bool trapezoidal = how.scheme == scheme::crank_nicolson;
  if (!trapezoidal && how.scheme != scheme::tr_bdf2) {
    throw bad_argument(
        "on CUDA devices the scheme is explicit_steps of order 2, crank_nicolson or tr_bdf2; the others run on the "
        "cpu");
  }
  const double step = how.step > 0 || !trapezoidal ? how.step : 0.1;
  if (wave.grid.rows > 1) {
    return make_device_split_steps<Scalar>(wave, {!trapezoidal, step, how.tolerance, accuracy}, how.device.cuda);
  }
  if (wave.is_split()) throw bad_argument("on CUDA devices implicit steps on an axon need recovery_diffusion 0");
  if (!trapezoidal) return make_device_tr_bdf2<Scalar>(wave, step, how.tolerance, accuracy, how.device.cuda);
  return make_device_crank_nicolson<Scalar>(wave, step, accuracy, how.device.cuda);
}

template std::unique_ptr<stepper<double>> make_device_stepper<double>(const problem&, const options&, double);
template std::unique_ptr<stepper<float>> make_device_stepper<float>(const problem&, const options&, double);

}  // namespace shoal::reaction_diffusion
