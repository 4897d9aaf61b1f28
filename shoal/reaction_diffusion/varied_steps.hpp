// Forward Euler steps, and Euler–Maruyama steps where there is noise, for coefficients that differ from node to node,
// for coupled axons, and for input in the plane.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// Any problem, one step in a pass over memory. `step` fixes the step.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_varied_steps(const problem& wave, double step, executor& executor);

}  // namespace shoal::reaction_diffusion
