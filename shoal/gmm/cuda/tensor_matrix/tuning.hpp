// Sizes of the kernels for full and tied mixtures of many columns and how far their sums are exact, with what was
// measured for each on an NVIDIA H200 by bench/ladder/gmm_large, in milliseconds for (rows, columns, components).
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_matrix {

/// How the expectation kernel for so many groups of 8 columns is cut: tiles of 16 rows that pass the components
/// together in a warp, warps of a block, and blocks that fit on a multiprocessor by their registers.
constexpr int row_tiles(int groups) { return groups <= 8 ? 2 : 1; }
constexpr int block_warps(int groups) { return groups <= 4 ? 8 : (groups <= 8 ? 6 : 12); }
constexpr int least_blocks(int groups) { return groups <= 8 ? 2 : 1; }

/// Blocks of few rows have fewer warps, so that each multiprocessor of an NVIDIA H200 has a block, but two at least to
/// fetch components: (1000, 65, 10) were three blocks of twelve warps, which took 28 µs.
inline constexpr int many_expectation_blocks = 132;
inline constexpr int least_block_warps = 2;

/// Blocks of a cluster that divide the components of few rows, while all blocks are at once on an NVIDIA H200.
inline constexpr int most_expectation_blocks = 264, most_cluster_blocks = 8;

/// Bytes of components in shared memory at a time. Few columns leave room for more than two blocks, if their stages do:
/// 0.439 at (2²⁰, 16, 16) with 20 KiB, and 0.466 with 40. Without stages (2²⁰, 128, 32) took 26.3 instead of 20.7.
constexpr int stage_bytes(int groups) { return (groups <= 3 ? 20 : 40) << 10; }

/// Rows of a section whose products take as long as what comes before and after them. In microseconds, with 512 rows
/// and as this chooses: tied (1000, 65, 10) 27 and 13, (10,000, 24, 1) 20 and 11, full (100,000, 96, 2) 63 and 53.
inline constexpr std::size_t section_cost = 64;

/// Deviations that a component's centre may be from the centre that all share. Of three products, 22 bits of a distance
/// of 16 leave an error of 4e-6 in y; of one product's 11 bits more is kept. Splitting rows once in such a frame, and
/// not for each component, took (2²⁰, 32, 64) from 3.99 to 3.65.
constexpr float most_frame_distance(int products) { return products == 3 ? 16 : 4; }

/// The same for one pass over the rows, where what the factor and the frame's place are rounded to cancels: a row's
/// place is rounded to 2⁻¹² of it, which is .001 deviations a column at the root mean square. And powers of two between
/// units of a column.
inline constexpr float most_one_pass_distance = 12;
inline constexpr int most_one_pass_ratio = 8;

/// Fewer rows gain nothing by one pass: (20,000, 48, 10) takes .090 ms with it and .091 without, (100,000, 48, 10) .131
/// and .157.
inline constexpr std::size_t least_one_pass_rows = 30000;
/// Rows of a section of one pass at least and at most.
inline constexpr int least_one_pass_section = 512, most_one_pass_section = 4096;

/// The same for moments about that centre, which lose digits with its square, and how many powers of two a column's
/// deviations may differ by.
constexpr float most_moments_distance(int products) { return products == 3 ? 6 : 4; }
inline constexpr int most_moments_ratio = 5;

}  // namespace shoal::gmm::tensor_matrix
