// Choices of the kernels of maps that measurement made, with what they gained.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <shoal/execution/plan.hpp>

namespace shoal::som {

/// Rows that meet one group of units before the next group comes.
inline constexpr std::size_t slab_rows = 256;

/// A group of units takes at most about so many bytes, to stay in the nearest cache for all rows of a slab: 16 to 32
/// KiB are alike on a Zen 4 with 32 KiB, 12 KiB are 4 % slower and 64 KiB 5 %.
inline constexpr std::size_t group_bytes = std::size_t{24} << 10;

/// A row keeps one minimum for each group: at most so many.
inline constexpr std::size_t most_groups = 256;

/// Panels in one group, from what both passes of the search take in cycles of a Zen 4: about 14 for a row's minimum of
/// each group, and 4d + 10 for each panel of the group that is scored again.
inline std::size_t panels_in_group(std::size_t panels, std::size_t columns, std::size_t panel_bytes) {
  const double again = 4 * static_cast<double>(columns) + 10;
  const auto balanced = static_cast<std::size_t>(std::sqrt(14 * static_cast<double>(panels) / again));
  const std::size_t cached = std::min(balanced, group_bytes / panel_bytes);
  return std::max({cached, (panels + most_groups - 1) / most_groups, std::size_t{1}});
}

/// Rows that are searched among few units before they are added: a multiple of the rows of every panel, and so few that
/// they stay in the cache between the two.
inline constexpr std::size_t few_slab_rows = 3 * block_rows;

/// Up to so many units, and coordinates in all of them, an epoch finds by the search that k-means has, in a fifth to
/// nine tenths of the time on a Zen 5. Beyond, that search may leave too many rows in doubt: 20,000 uniform float32
/// rows of 256 columns take 80 ms beside 256 units, by the maps' own search 47; rows of 1024 columns beside 128 units
/// gain nothing.
inline constexpr std::size_t most_few_units = 128;
inline constexpr std::size_t most_few_values = std::size_t{1} << 16;

}  // namespace shoal::som
