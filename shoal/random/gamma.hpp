// Gamma and chi-squared variates from a random stream.
#pragma once

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// Gamma of the given shape > 0 and scale 1 (Marsaglia and Tsang, "A simple method for generating gamma variables", ACM
/// TOMS 26(3), 2000). Throws bad_argument for a shape that is not positive and finite.
double gamma(stream& bits, double shape);

/// The logarithm of such a variate. For shapes far below one the variate itself is often too small for a double, its
/// logarithm is not.
double log_gamma_variate(stream& bits, double shape);

/// Chi-squared with the given degrees of freedom > 0, not necessarily whole: twice a gamma of half of them.
double chi_squared(stream& bits, double degrees_of_freedom);

}  // namespace shoal::random
