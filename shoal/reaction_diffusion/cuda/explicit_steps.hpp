// Explicit steps on GPUs, on an axon or in the plane, a domain for each GPU.
#pragma once

#include <memory>
#include <span>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// `step` fixes the step. A device that is named several times has as many domains. Neither their number nor how many
/// steps a pass takes changes a bit.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_explicit_steps(const problem& wave, double step,
                                                            std::span<const int> devices);

}  // namespace shoal::reaction_diffusion
