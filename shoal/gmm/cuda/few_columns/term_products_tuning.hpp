// Sizes of the kernels that multiply few columns by any number of components, with what was measured for each on an
// NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

/// What ending a group costs: of each component, in rows; and what a tile of a warp costs beside its components' terms,
/// in tiles.
inline constexpr double term_flush_cost_rows = 128, term_tile_cost = 0.5;

/// Most sums of all components: each block keeps a lane of them.
inline constexpr std::size_t most_term_sums = std::size_t{1} << 20;

/// Where they are faster than the other rooms' kernels.
constexpr bool are_terms_faster(covariance_type type, std::size_t rows, std::size_t columns, std::size_t components) {
  (void)type;
  (void)columns;
  return components >= 33 && rows * components >= 20'000'000;
}

}  // namespace shoal::gmm::few_columns
