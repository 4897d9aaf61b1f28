// Sizes of the kernels that multiply few columns by any number of components, with what was measured for each on an
// NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::gmm::few_columns {

/// What ending a group costs: of each component, in rows; and what a tile of a warp costs beside its components' terms,
/// in tiles.
inline constexpr double term_flush_cost_rows = 128, term_tile_cost = 0.5;

/// Tiles of components of a warp that keeps their densities, where there are so many tiles of all; with two it has
/// those of 32 rows at a time and no number without a register. An iteration in eleven bits takes with two, three and
/// four (bench/results/held-terms-nvidia-h200-2026-11-29.json): diag (10⁷, 8, 33) 0.566, 0.487 and 0.617 ms, (10⁷, 8,
/// 64) 0.572, 0.790 and 0.616, (10⁷, 8, 100) 0.952, 1.347 and 1.066, (10⁷, 8, 256) 2.228, 2.815 and 2.215, (10⁷, 13,
/// 33) 0.866, 1.001 and 1.490; spherical (10⁷, 8, 33) 0.541, 0.468 and 0.546, (10⁷, 16, 100) 1.35, 2.00 and 1.90.
constexpr unsigned held_tiles(std::size_t columns, unsigned tiles) { return tiles == 3 && columns <= 8 ? 3 : 2; }

/// Most sums of all components: each block keeps a lane of them.
inline constexpr std::size_t most_term_sums = std::size_t{1} << 20;

/// Where they are faster than the other rooms' kernels. An iteration of (rows, columns, components) takes with the
/// others and so, of uniform rows: diag in eleven bits (10⁷, 8, 33) 0.749 and 0.607 ms, (10⁷, 8, 64) 0.916 and 0.824,
/// (10⁷, 8, 100) 1.88 and 1.23, (10⁷, 16, 256) 6.22 and 3.40, (10⁵, 8, 33) 0.0338 and 0.0260, (10⁵, 13, 256) 0.124 and
/// 0.081, (10⁵, 8, 16384) 5.23 and 3.07, (10⁶, 8, 16) 0.064 and 0.074; in float32 (10⁶, 8, 64) 0.118 and 0.137, (10⁶,
/// 8, 100) 0.239 and 0.222, (10⁶, 2, 1000) 2.05 and 1.37, (10⁶, 13, 1000) 3.50 and 2.25; spherical in eleven bits (10⁷,
/// 16, 100) 2.77 and 1.75, (10⁵, 1, 4096) 0.836 and 0.509. 65 to 99 components in float32 were not timed: not taken.
/// Nor were fewer than 10⁶ such rows. Sixteen columns in registers of one warp, (10⁷, 16, 64), take 1.69 ms and in two
/// passes 1.05.
///
/// Found once, up to 256 components in eleven bits take instead of twice: diag (10⁷, 8, 33) 0.48 and 0.63, (10⁷, 8, 80)
/// 0.88 and 0.98, (10⁷, 8, 160) 1.31 to 1.63 and 1.87 to 2.09, (10⁷, 8, 190) 1.88 to 1.98 and 2.06 to 2.12, (10⁷, 16,
/// 100) 1.42 and 1.81, (10⁵, 8, 33) 0.029 and 0.031, (10⁵, 13, 256) 0.072 and 0.073; spherical (10⁷, 16, 33) 0.73 and
/// 0.83, (10⁵, 8, 256) 0.062 and 0.070, (10⁵, 13, 256) 0.074 and 0.079.
constexpr bool are_terms_faster(precision least, std::size_t rows, std::size_t components) {
  const bool fine = least == precision::float32;
  return components >= (fine ? 100U : 33U) && rows * components >= (fine ? 100'000'000U : 3'300'000U);
}

}  // namespace shoal::gmm::few_columns
