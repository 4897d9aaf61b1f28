// Sizes of the kernels for many columns (large_*) and how far their sums are exact, with what was measured for each on
// an NVIDIA H200 by bench/ladder/gmm_large, in milliseconds for (rows, columns, components).
#pragma once

namespace shoal::gmm::large {

// ---- full and tied ----

/// How the expectation kernel for so many groups of 8 columns is cut: tiles of 16 rows that pass the components
/// together in a warp, warps of a block, and blocks that fit on a multiprocessor by their registers.
constexpr int row_tiles(int groups) { return groups <= 8 ? 2 : 1; }
constexpr int block_warps(int groups) { return groups <= 4 ? 8 : (groups <= 8 ? 6 : 12); }
constexpr int least_blocks(int groups) { return groups <= 8 ? 2 : 1; }

/// Bytes of components in shared memory at a time. Few columns leave room for more than two blocks, if their stages do:
/// 0.439 at (2²⁰, 16, 16) with 20 KiB, and 0.466 with 40. Without stages (2²⁰, 128, 32) took 26.3 instead of 20.7.
constexpr int stage_bytes(int groups) { return (groups <= 3 ? 20 : 40) << 10; }

/// Deviations that a component's centre may be from the centre that all share. Of three products, 22 bits of a distance
/// of 16 leave an error of 4e-6 in y; of one product's 11 bits more is kept. Splitting rows once in such a frame, and
/// not for each component, took (2²⁰, 32, 64) from 3.99 to 3.65.
constexpr float most_frame_distance(int products) { return products == 3 ? 16 : 4; }

/// The same for moments about that centre, which lose digits with its square, and how many powers of two a column's
/// deviations may differ by.
constexpr float most_moments_distance(int products) { return products == 3 ? 6 : 4; }
inline constexpr int most_moments_ratio = 5;

// ---- diag and spherical ----

/// Deviations that a component may be from the frame's centre in one column, and their sum of squares over all: sums
/// about the frame's centre, and log-densities from its products, lose digits with the squares of these.
inline constexpr double most_column_distance = 6;
inline constexpr double most_squared_distance = 256;
/// How much smaller than the frame's unit a deviation may be: z² has an error of 2⁻²⁵ where it is small.
inline constexpr double most_ratio = 32;
/// The same for a wide frame: so that rows that matter are in float16's range, and that log₂-densities have errors of
/// less than one where it matters which components are near a row.
inline constexpr double wide_column_distance = 128;
inline constexpr double wide_squared_distance = 65536;
inline constexpr double wide_ratio = 128;

}  // namespace shoal::gmm::large
