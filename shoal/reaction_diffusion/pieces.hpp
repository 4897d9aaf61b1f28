// The source's proposal: some nodes by explicit steps, and the pieces between them by implicit ones, in parallel.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// How many nodes away the explicit nodes must look for their differences, so that a step stays bounded (Dawson, Du &
/// Dupont 1991): the least r with step ≤ 0.9 · 2 / (4D/(r·Δx)² + 1 − a). 0 where no reach is enough.
std::size_t reach_of_step(const problem& wave, double step);

/// On an axon without flux at its ends or with input. Every `piece_nodes`-th node is stepped first, by Euler's forward
/// step with its neighbours at that reach; each piece between two of them is then one backward Euler step by Newton's
/// method with known values at its ends. Of first order in time, and of second in space.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_pieces(const problem& wave, double step, double accuracy, std::size_t piece_nodes,
                                             executor& executor);

}  // namespace shoal::reaction_diffusion
