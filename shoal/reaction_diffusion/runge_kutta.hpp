// The classical Runge–Kutta method with fourth-order differences: of fourth order in time and space.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// The longest step that stays bounded near v = 1, 2.785 / (16/3·D/Δx² + 1 − a): the method's stability reaches 2.785
/// on the real axis, and the largest eigenvalue of the differences is 16/3 / Δx².
double longest_runge_kutta_step(const problem& wave);

/// On an axon. At a wall without flux v_x = v_xxx = 0, so that two mirrored ghost nodes keep the order; beyond an end
/// with input lies one ghost node of the polynomial through the last six nodes.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_runge_kutta(const problem& wave, double step, executor& executor);

}  // namespace shoal::reaction_diffusion
