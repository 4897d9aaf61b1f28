// What a build without CUDA says when waves are asked for on CUDA devices.
#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_stepper(const problem&, const options&, double) {
  throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON");
}

template std::unique_ptr<stepper<double>> make_device_stepper<double>(const problem&, const options&, double);
template std::unique_ptr<stepper<float>> make_device_stepper<float>(const problem&, const options&, double);

}  // namespace shoal::reaction_diffusion
