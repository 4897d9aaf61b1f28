// Forward Euler steps in the plane by a five-point stencil, several in a pass over memory.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// Without flux at every wall, or periodic in both directions. `step` fixes the step.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_plane_steps(const problem& wave, double step, executor& executor);

}  // namespace shoal::reaction_diffusion
