// The radius and the rate of every step of training.
#pragma once

#include <cstddef>

#include <shoal/som/options.hpp>

namespace shoal::som {

/// What `decay` makes of `range` at step `step` (from 0) of `steps`.
double decayed(decay decay, range range, std::size_t step, std::size_t steps);

/// options::radius, or what stands for none.
range radius_range(const options& options);

}  // namespace shoal::som
