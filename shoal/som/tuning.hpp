// Choices of the kernels of maps that measurement made, with what they gained.
#pragma once

#include <cstddef>

namespace shoal::som {

/// Rows that meet one group of units before the next group comes.
inline constexpr std::size_t slab_rows = 256;

/// A group of units takes about so many bytes: half of the nearest cache, so that it stays there for all rows of a
/// slab.
inline constexpr std::size_t group_bytes = std::size_t{16} << 10;

/// A row keeps one minimum for each group: at most so many.
inline constexpr std::size_t most_groups = 256;

}  // namespace shoal::som
