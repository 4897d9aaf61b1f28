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

/// The share of a GPU's multiprocessors that clusters of four and eight blocks find room in: they do not reach beyond
/// neighbours, of which some are left over. An H200 runs 30 clusters of 4 blocks at once, 15 of 8 and 66 of 2. With 32
/// of 4, of which two wait for others' end, (10⁵, 8, 1000) takes 1.58 ms instead of 0.95.
inline constexpr double share_of_clusters = 10.0 / 11;

/// Where they were faster than the other rooms' kernels. An iteration of uniform rows takes with these and so, in ms
/// (bench/results/float64-frame-nvidia-h200-2026-11-29.json): full (10⁷, 1, 64) 2.64 and 0.91, (10⁷, 5, 64) 6.23 and
/// 1.98, (10⁶, 2, 10) 0.060 and 0.054, (10⁶, 5, 10) 0.103 and 0.091, (10⁶, 5, 5) 0.067 and 0.090, (10⁶, 7, 16) 0.230
/// and 0.134, (10⁶, 8, 16) 0.145 and 0.152, (10⁶, 8, 20) 0.382 and 0.249, (10⁵, 2, 16) 0.0226 and 0.0197, (10⁴, 3, 64)
/// 0.0219 and 0.0334; tied (10⁶, 1, 100) 0.537 and 0.229, (10⁶, 8, 33) 0.434 and 0.440, (10⁶, 8, 256) 4.65 and 1.78;
/// diag (10⁶, 3, 16) 0.091 and 0.071, (10⁶, 8, 100) 1.38 and 0.49, (10⁶, 16, 33) 0.501 and 0.475; spherical (10⁶, 8,
/// 33) 0.375 and 0.214, (10⁶, 16, 33) 0.451 and 0.459.
///
/// At the thresholds (bench/results/float64-clusters-nvidia-h200-2026-11-29.json), without them and with: full (30,000,
/// 5, 64) 0.0435 and 0.0408, (30,000, 3, 64) 0.0320 and 0.0317, (30,000, 1, 64) 0.0271 and 0.0294, (30,000, 8, 64)
/// 0.0845 and 0.0646, (50,000, 5, 33) 0.0380 and 0.0422, (50,000, 8, 33) 0.0643 and 0.0653, (10⁵, 5, 15) 0.0377 and
/// 0.0309, (10⁴, 5, 100) 0.0385 and 0.0439, (10⁴, 8, 100) 0.0677 and 0.0757, (20,000, 8, 100) 0.107 and 0.080; tied
/// (50,000, 8, 100) 0.171 and 0.112, (30,000, 8, 64) 0.0710 and 0.0714; diag (10⁵, 16, 10) 0.0391 and 0.0556, (10⁵, 16,
/// 17) 0.0509 and 0.0865, (30,000, 16, 33) 0.0369 and 0.0531, (10⁶, 16, 1) 0.131 and 0.132, (10⁶, 16, 2) 0.150 and
/// 0.131, (300,000, 16, 5) 0.0882 and 0.0637, (10⁶, 12, 5) 0.197 and 0.110, (10⁶, 9, 5) 0.084 and 0.108; spherical
/// (10⁵, 16, 33) 0.0803 and 0.0742, (10⁶, 16, 33) 0.454 and 0.342, (10⁶, 16, 17) 0.257 and 0.266, (10⁶, 9, 33) 0.397
/// and 0.257.
constexpr bool are_float64_products_faster(covariance_type type, std::size_t rows, std::size_t columns,
                                           std::size_t components) {
  const bool matrices = type == covariance_type::full || type == covariance_type::tied;
  if (type == covariance_type::diag && columns >= 12 && components > 1 && rows >= 300'000) return true;
  const std::size_t least_rows = matrices && columns >= 5 && components >= 64 ? 30'000 : 100'000;
  const std::size_t least_terms = !matrices && columns > 8 ? 3'000'000 : 1'500'000;
  if (components < 10 || rows < least_rows || rows * components < least_terms) return false;
  switch (type) {
    case covariance_type::full:
      return columns < 8 || (columns == 8 && components > 16);
    case covariance_type::tied:
      return columns < 8 || (columns == 8 && components >= 64);
    case covariance_type::diag:
      return columns <= 16;
    default:
      return columns <= 8 || (columns <= 16 && components >= 33);
  }
}

}  // namespace shoal::gmm::few_columns
