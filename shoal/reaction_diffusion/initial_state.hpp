// How a wave begins.
#pragma once

#include <vector>

#include <shoal/reaction_diffusion/parameters.hpp>

namespace shoal::reaction_diffusion {

/// v and w at time 0, [rows][columns] each.
struct initial_state {
  std::vector<double> v;
  std::vector<double> w;
};

/// v = w = 0.
initial_state rest(const grid& nodes);

/// v = exp(−r² / 10) around the middle, w = 0: the source's impulse.
initial_state impulse(const grid& nodes);

/// The exact front of ε = 0, w = 0 with its level ½ in the middle: v = 1 / (1 + e^{x / √(2D)}), which moves to the
/// right at √(D / 2)·(1 − 2a). In the plane every row holds the same.
initial_state front(const grid& nodes, const parameters& equations);

/// A wave with a free end, which curls into a spiral: v = 1 in the left half, and w = 0.1 in the lower half.
initial_state broken_front(const grid& nodes);

}  // namespace shoal::reaction_diffusion
