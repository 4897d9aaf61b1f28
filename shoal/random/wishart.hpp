// The Cholesky factor of a Wishart matrix, from a random stream.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// The lower Cholesky factor L of L·Lᵀ ~ Wishart(I, dimensions, n), [dimensions][dimensions] row-major with zeros above
/// the diagonal, by Bartlett's decomposition (Odell and Feiveson, JASA 61(313), 1966; Sawyer 2007): with 0-based
/// indices, L_ii² ~ χ²(n − i), and L_ij ~ N(0, 1) for j < i. The mean of L·Lᵀ is n·I. `degrees_of_freedom` n is any
/// number > dimensions − 1; throws bad_argument otherwise, or for no dimensions.
std::vector<double> wishart_factor(stream& bits, std::size_t dimensions, double degrees_of_freedom);

/// Such an L·Lᵀ itself, [dimensions][dimensions] row-major, exactly symmetric.
std::vector<double> wishart(stream& bits, std::size_t dimensions, double degrees_of_freedom);

}  // namespace shoal::random
