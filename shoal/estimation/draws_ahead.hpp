// Rows that greedy k-means++ draws for several steps at once.
//
// A row that was drawn in proportion to the masses of an earlier moment, and is kept with a probability of its mass now
// over its mass then, is drawn in proportion to the masses of now (von Neumann 1951; Cohen-Addad et al. 2020, Fast and
// accurate k-means++ via rejection sampling). So from some step on one draw serves many steps: each takes the first
// rows that are kept, in order, and where too few are left new ones are drawn.
#pragma once

#include <cstddef>

namespace shoal {

/// Before this step each step draws its own trials: at first masses fall so fast that few rows would be kept.
inline constexpr std::size_t first_step_ahead = 64;

/// Steps for which rows are drawn at once: half as many are refilled twice as often, twice as many are thinned more.
inline constexpr std::size_t steps_drawn_ahead = 32;

}  // namespace shoal
