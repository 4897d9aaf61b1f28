// Crank–Nicolson on GPUs.
#pragma once

#include <memory>
#include <span>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon, as make_crank_nicolson(), with what that remembers: either goes on from the other. The number of devices
/// changes no bit.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_crank_nicolson(const problem& wave, double step, double accuracy,
                                                            std::span<const int> devices);

}  // namespace shoal::reaction_diffusion
