// TR-BDF2: a trapezoidal stage and a backward one, L-stable and of second order, with an estimate of its error.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon (Bank et al. 1985; the estimate is of Hosea & Shampine 1996). With `step` 0 each step is as long as
/// `tolerance` allows, else steps are fixed.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_tr_bdf2(const problem& wave, double step, double tolerance, double accuracy,
                                              executor& executor);

}  // namespace shoal::reaction_diffusion
