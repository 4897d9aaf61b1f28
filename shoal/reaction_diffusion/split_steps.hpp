// Implicit steps in the plane, of coupled axons, and where w spreads: reaction and diffusion by turns (Strang 1968).
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/split_rule.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// Half a step of the reaction in each node, a whole one of diffusion along the rows and then along the columns, half
/// one of the reaction: of second order. Ends without flux or periodic; noise goes with steps of one length.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_split_steps(const problem& wave, const split_rule& rule, executor& executor);

}  // namespace shoal::reaction_diffusion
