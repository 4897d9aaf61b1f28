// Explicit steps on the nodes that matter, chosen anew in each step.
#pragma once

#include <memory>

#include <shoal/reaction_diffusion/options.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// The longest step that stays bounded near v = 1 where every node is in use: 2 / (λ·D/Δx² + 1 − a), where λ is the
/// largest eigenvalue of the differences: 4, 16/3 for five points, 12 for the spline.
double longest_adaptive_step(const problem& wave, second_differences differences);

/// On an axon without flux at its ends, or with input at the last node. `step` fixes the step.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_adaptive(const problem& wave, const adaptive_options& how, double step);

}  // namespace shoal::reaction_diffusion
