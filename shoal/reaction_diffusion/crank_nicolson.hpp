// Crank–Nicolson: the trapezoidal rule for v and w, solved by Newton's method.
#pragma once

#include <memory>

#include <shoal/execution/executor.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// On an axon. Each of the first two steps is two backward Euler steps of half its length, which damp what the rule
/// would let ring (Rannacher 1984). With noise it is the drift-implicit method: the drift as without noise, the noise
/// of each step from the state at its begin.
template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_crank_nicolson(const problem& wave, double step, double accuracy,
                                                     executor& executor);

}  // namespace shoal::reaction_diffusion
