// Sizes of the kernels for float64 products.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_float64 {

/// Columns from which on tiles are more than padding.
inline constexpr std::size_t least_columns = 17;

/// Rows of so many columns at most stay in registers, and components share them.
inline constexpr std::size_t narrow_columns = 64;

/// Blocks that log-densities of such rows are cut into at least: two for each multiprocessor of an NVIDIA H200.
inline constexpr unsigned least_density_blocks = 264;

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

}  // namespace shoal::gmm::tensor_float64
