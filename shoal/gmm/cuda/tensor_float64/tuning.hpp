// Sizes of the kernels for float64 products.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_float64 {

/// Columns from which on predictions take these kernels, and numbers of all components' means: labels of 10⁶ float64
/// rows take on an NVIDIA H200, in ms, by the plain kernel and here, full × 16 columns and 100 components 69 and 4.9, ×
/// 16, 10 9.4 and 1.6, × 8, 100 14 and 4.8, diagonal × 16, 33 5.7 and 1.8. Fits take them for fewer columns too, of
/// more components than the kernels for few columns take.
inline constexpr std::size_t least_matrix_columns = 6;
inline constexpr std::size_t least_diagonal_columns = 5;
inline constexpr std::size_t least_diagonal_numbers = 150;
/// From so many components on of any more columns than one: full × 3 and 1000 62 and 36, diagonal × 2 39 and 18.
inline constexpr std::size_t many_components = 512;

/// float64 rows of so many columns at most stay in registers while a block goes through the components.
inline constexpr std::size_t row_columns = 128;

/// Of so many components at most a block keeps its rows' terms in shared memory and makes responsibilities of them.
inline constexpr unsigned most_finished_components = 64;

/// So many columns at most: components share rows in shared memory, and a component's moments lie in one warp's
/// registers or in two's.
inline constexpr std::size_t narrow_columns = 64;

/// Blocks that log-densities of such rows are cut into at least: two for each multiprocessor of an NVIDIA H200.
inline constexpr unsigned least_density_blocks = 264;

/// Blocks of a multiprocessor that find log-densities of components that are apart, and their responsibilities: as many
/// as it holds. Mostly there are none, and 16 of densities took 5 µs to find that out.
inline constexpr unsigned resident_densities = 2;
inline constexpr unsigned resident_responsibilities = 16;

/// From so many components on several threads share a row's responsibilities: its terms are read three times, and
/// chunks of many components have few rows.
inline constexpr unsigned least_shared_components = 257;

/// A component is a block's second index, of which a grid has at most so many.
inline constexpr std::size_t most_components = 65535;

/// Blocks that sum moments, for each multiprocessor.
inline constexpr std::size_t turns_of_blocks = 4;
inline constexpr std::size_t most_lanes = 1024;
inline constexpr std::size_t most_lane_bytes = std::size_t{512} << 20;

/// Rows of a section, a power of two: at the end of one a block adds its tile to its lane in memory. At least this
/// many sections to a lane keep lanes equally long.
inline constexpr std::size_t most_section_rows = 4096;
inline constexpr std::size_t least_section_rows = 256;
inline constexpr std::size_t sections_of_lane = 4;

/// Rows whose products take as long as to add a section's sums of float16 terms to their lane.
inline constexpr std::size_t half_section_cost = 100;

/// The same of float64 products: with 100 diag (10⁵, 128, 10) takes 0.133 ms and 0.118 so, (10⁶, 64, 100) 2.87
/// and 2.74; with 300 sections were too few for the blocks at (10⁶, 64, 97).
inline constexpr std::size_t framed_section_cost = 200;

/// From so many tied components on they are multiplied in their frame; fewer from so many rows on, times components but
/// one: (10⁶, 16, 2) takes 0.33 ms there and 0.45 without, (300,000, 16, 2) 0.19 and 0.14 when launches were more.
inline constexpr std::size_t least_tied_components = 4;
inline constexpr std::size_t least_tied_rows = std::size_t{1} << 19;

/// Deviations that a component may be from the frame's origin in one column, and their sum of squares over all columns:
/// sums in the frame lose digits with the squares of these.
inline constexpr double most_column_distance = 32;
constexpr double most_squared_distance(std::size_t columns) { return 8192 + 16 * static_cast<double>(columns); }

/// Reciprocals of the deviations that a frame takes. There rows are squared before they are divided by a variance: of
/// rows up to 1e130 deviations away (check_reach.cpp) these keep squares, and 1/σ², within float64's range.
inline constexpr double least_frame_factor = 1e-20;
inline constexpr double most_frame_factor = 1e140;

/// The same for float32 rows: float64 has digits to lose that they do not. A component of a fit of many columns may
/// have one row alone, and the least deviation in every column: of 256 uniform ones with 1e-3 that is 290 in each, and
/// 2²⁴ over all. A log-density has an error of 1e-7 there.
inline constexpr double most_float_column_distance = 2048;
inline constexpr double most_float_squared_distance = 1 << 26;

/// The same for float32 rows by products of float16 terms, whose sums go on in pairs of float32 numbers after every 64
/// columns; how much smaller than the frame's unit a deviation may be; and ‖z‖² in that unit beyond which a row's tile
/// is done in float64. Components of uniform rows hug a side of them, as far as 9 deviations away: with 6 in one column
/// such mixtures left the frame after some 15 iterations.
inline constexpr double most_half_column_distance = 12;
constexpr double most_half_squared_distance(std::size_t columns) {
  return columns <= 128 ? 256 : 2 * static_cast<double>(columns);
}
inline constexpr double most_half_ratio = 32;
constexpr double most_half_norm(std::size_t columns) {
  return columns < 3072 ? 1024 + 16 * static_cast<double>(columns) : 50000;
}

}  // namespace shoal::gmm::tensor_float64
