// White noise in space and time, by node and step.
#pragma once

#include <cstddef>

#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// Which noise: that of the step `number`, of length `step`.
struct noise_step {
  std::size_t number;
  double step;
};

/// to[i] += strength·g(v[i])·√(step / cell)·ξ for the nodes [first, end), where a cell is spacing long, or spacing²
/// large in the plane, and ξ is the standard normal number of (seed, step number, node): the same whoever asks. Nothing
/// where the problem has no noise, nor at a node with input.
void add_noise(const problem& wave, const noise_step& at, const double* v, std::size_t first, std::size_t end,
               double* to);
void add_noise(const problem& wave, const noise_step& at, const float* v, std::size_t first, std::size_t end,
               float* to);

}  // namespace shoal::reaction_diffusion
