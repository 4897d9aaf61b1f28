// Steppers whose states live on CUDA devices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// For a problem and options that were checked, and at least one device. `accuracy` is that of Newton's method. Throws
/// not_built where CUDA was not built.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_stepper(const problem& wave, const options& how, double accuracy);

/// A GPU takes so many steps between two looks at the clock: a few hundredths of a second.
inline std::size_t device_steps_between_looks(std::size_t nodes) {
  return std::clamp<std::size_t>((std::size_t{1} << 34) / nodes, 32, std::size_t{1} << 14);
}

}  // namespace shoal::reaction_diffusion
