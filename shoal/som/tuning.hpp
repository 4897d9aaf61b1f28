// Choices of the kernels of maps that measurement made, with what they gained.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

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

}  // namespace shoal::som
