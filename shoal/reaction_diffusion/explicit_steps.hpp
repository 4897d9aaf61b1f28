// Forward Euler steps, several in a pass over memory.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/explicit_window.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// The longest step that stays bounded near v = 1: 2 / (4D/Δx² + 1 − a), 8D in the plane, or what w asks for in the
/// same way where that is less.
double longest_explicit_step(const problem& wave);

/// Of one step, on an axon or in the plane.
template <class Scalar>
explicit_coefficients<Scalar> explicit_coefficients_of(const problem& wave, double step);

/// On an axon. `step` fixes the step.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_explicit_steps(const problem& wave, double step, executor& executor);

}  // namespace shoal::reaction_diffusion
