// Sizes of the kernels that multiply float64 rows of few columns, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

/// Whitened deviations that a component may be from the frame's origin in one column, their sum of squares, and the sum
/// of magnitudes of what a row a deviation away adds up for ‖y‖²: densities and sums lose digits with these.
inline constexpr double most_float64_distance = 32;
inline constexpr double most_float64_squared_distance = 2048;
inline constexpr double most_float64_terms = 4096;

/// What beginning and ending a group costs, in rows.
inline constexpr double float64_group_cost_rows = 16;

/// Of so many components at most each block packs the mixture by itself.
inline constexpr std::size_t most_small_float64_components = 32;

/// What a tile of a warp costs beside its components' terms, in tiles.
inline constexpr double float64_tile_cost = 0.5;

constexpr bool are_float64_products_faster(covariance_type type, std::size_t rows, std::size_t columns,
                                           std::size_t components) {
  return components >= 3 && columns <= (type == covariance_type::full || type == covariance_type::tied ? 8U : 16U) &&
         rows * components >= 1'000'000;
}

}  // namespace shoal::gmm::few_columns
