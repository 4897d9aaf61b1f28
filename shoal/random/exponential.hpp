// Exponential variates from a random stream.
#pragma once

#include <cmath>

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// Exponential of rate 1 (mean 1) by inversion, −ln u: positive and finite, at most 36.8.
inline double exponential(stream& bits) { return -std::log(bits.uniform()); }

}  // namespace shoal::random
