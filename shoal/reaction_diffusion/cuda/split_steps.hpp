// Split implicit steps in the plane on GPUs.
#pragma once

#include <memory>
#include <span>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/split_rule.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// With one set of coefficients everywhere, and ends without flux or periodic. The number of devices changes no bit.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_split_steps(const problem& wave, const split_rule& rule,
                                                         std::span<const int> devices);

}  // namespace shoal::reaction_diffusion
