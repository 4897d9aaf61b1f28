// Sizes of the kernels that multiply float64 rows of few columns, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

/// What beginning and ending a group costs, in rows.
inline constexpr double float64_group_cost_rows = 16;

/// Of so many components at most each block packs the mixture by itself.
inline constexpr std::size_t most_small_float64_components = 32;

/// What a tile of a warp costs beside its components' terms, in tiles.
inline constexpr double float64_tile_cost = 0.5;

/// Where they were faster than the other rooms' kernels. An iteration of uniform rows takes with these and so, in ms
/// (bench/results/float64-frame-nvidia-h200-2026-11-29.json): full (10⁷, 1, 64) 2.64 and 0.91, (10⁷, 5, 64) 6.23 and
/// 1.98, (10⁶, 2, 10) 0.060 and 0.054, (10⁶, 5, 10) 0.103 and 0.091, (10⁶, 5, 5) 0.067 and 0.090, (10⁶, 7, 16) 0.230
/// and 0.134, (10⁶, 8, 16) 0.145 and 0.152, (10⁶, 8, 20) 0.382 and 0.249, (10⁵, 2, 16) 0.0226 and 0.0197, (10⁴, 3, 64)
/// 0.0219 and 0.0334; tied (10⁶, 1, 100) 0.537 and 0.229, (10⁶, 8, 33) 0.434 and 0.440, (10⁶, 8, 256) 4.65 and 1.78;
/// diag (10⁶, 3, 16) 0.091 and 0.071, (10⁶, 8, 100) 1.38 and 0.49, (10⁶, 16, 33) 0.501 and 0.475; spherical (10⁶, 8,
/// 33) 0.375 and 0.214, (10⁶, 16, 33) 0.451 and 0.459.
constexpr bool are_float64_products_faster(covariance_type type, std::size_t rows, std::size_t columns,
                                           std::size_t components) {
  if (components < 10 || rows < 100'000 || rows * components < 1'600'000) return false;
  switch (type) {
    case covariance_type::full:
      return columns < 8 || (columns == 8 && components > 16);
    case covariance_type::tied:
      return columns < 8 || (columns == 8 && components >= 64);
    case covariance_type::diag:
      return columns <= 16;
    default:
      return columns <= 8;
  }
}

}  // namespace shoal::gmm::few_columns
