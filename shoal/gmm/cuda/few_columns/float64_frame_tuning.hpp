// How near to each other components lie that float64 products of few columns take.
#pragma once

namespace shoal::gmm::few_columns {

/// Whitened deviations that a component may be from the frame's origin in one column, their sum of squares, and the sum
/// of magnitudes of what a row a deviation away adds up for ‖y‖²: densities and sums lose digits with these.
inline constexpr double most_float64_distance = 32;
inline constexpr double most_float64_squared_distance = 2048;
inline constexpr double most_float64_terms = 4096;

}  // namespace shoal::gmm::few_columns
