// TR-BDF2 on a GPU.
#pragma once

#include <memory>

#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon that is not periodic, as make_tr_bdf2(), with what that remembers: either goes on from the other.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_tr_bdf2(const problem& wave, double step, double tolerance,
                                                     double accuracy, int device);

}  // namespace shoal::reaction_diffusion
