// Forward Euler steps, several in a pass over memory.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// The longest step that stays bounded near v = 1: 2 / (4D/Δx² + 1 − a), with 8D in the plane; and what w asks for in
/// the same way. Of the fourth-order method 2.785 / (16/3·D/Δx² + 1 − a), as its stability reaches 2.785 and the
/// largest eigenvalue of its differences is 16/3.
double longest_explicit_step(const problem& wave, std::size_t order);

/// On an axon. `step` fixes the step.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_explicit_steps(const problem& wave, double step, executor& executor);

}  // namespace shoal::reaction_diffusion
