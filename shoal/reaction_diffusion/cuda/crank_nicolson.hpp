// Crank–Nicolson on a GPU.
#pragma once

#include <memory>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon that is not periodic, as make_crank_nicolson(), with what that remembers: either goes on from the other.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_crank_nicolson(const problem& wave, double step, double accuracy,
                                                            int device);

}  // namespace shoal::reaction_diffusion
