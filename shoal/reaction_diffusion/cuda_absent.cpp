// What a build without CUDA says when waves are asked for on CUDA devices.
#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/device_states.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>
#include <shoal/reaction_diffusion/wave_speed.hpp>

namespace shoal::reaction_diffusion {
namespace {

[[noreturn]] void refuse() { throw not_built("CUDA support was not built; configure with -DSHOAL_CUDA=ON"); }

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_stepper(const problem&, const options&, double) {
  refuse();
}

template <class Scalar>
void require_on_device(const device_state<Scalar>&) {
  refuse();
}

template <class Scalar>
std::size_t first_not_finite(const Scalar*, std::size_t, int) {
  refuse();
}

template <class Scalar>
void copy_values(const Scalar*, Scalar*, std::size_t) {
  refuse();
}

template <class Scalar>
std::optional<double> wave_speed(const device_state<Scalar>&, const device_state<Scalar>&, double, const grid&) {
  refuse();
}

template std::unique_ptr<stepper<double>> make_device_stepper<double>(const problem&, const options&, double);
template void require_on_device(const device_state<double>&);
template std::size_t first_not_finite(const double*, std::size_t, int);
template void copy_values(const double*, double*, std::size_t);
template std::optional<double> wave_speed(const device_state<double>&, const device_state<double>&, double,
                                          const grid&);
template std::unique_ptr<stepper<float>> make_device_stepper<float>(const problem&, const options&, double);
template void require_on_device(const device_state<float>&);
template std::size_t first_not_finite(const float*, std::size_t, int);
template void copy_values(const float*, float*, std::size_t);
template std::optional<double> wave_speed(const device_state<float>&, const device_state<float>&, double, const grid&);

}  // namespace shoal::reaction_diffusion
