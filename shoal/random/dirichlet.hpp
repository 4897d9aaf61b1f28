// Dirichlet variates from a random stream.
#pragma once

#include <span>
#include <vector>

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// Dirichlet with the given concentrations > 0: as many numbers ≥ 0 that sum to one, by normalising gammas. Any
/// concentration is safe: one far below one puts nearly everything on one element, it never divides zero by zero.
/// Throws bad_argument for no concentrations, or for one that is not positive and finite, by its index.
std::vector<double> dirichlet(stream& bits, std::span<const double> concentrations);

}  // namespace shoal::random
