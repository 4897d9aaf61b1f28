// The order in which masses are summed for a draw, the same wherever it is made.
#pragma once

namespace shoal {

/// Masses are summed in groups of so many, one after the other, and then the groups' sums likewise: short enough chains
/// for the threads of a GPU.
inline constexpr unsigned draw_group = 32;

}  // namespace shoal
