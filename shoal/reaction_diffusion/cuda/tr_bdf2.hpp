// TR-BDF2 on GPUs.
#pragma once

#include <memory>
#include <span>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon, as make_tr_bdf2(), with what that remembers: either goes on from the other. The number of devices
/// changes no bit.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_tr_bdf2(const problem& wave, double step, double tolerance,
                                                     double accuracy, std::span<const int> devices);

}  // namespace shoal::reaction_diffusion
