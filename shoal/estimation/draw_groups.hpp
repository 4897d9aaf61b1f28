// How masses are summed for a draw and trials compared, the same wherever it is done.
#pragma once

namespace shoal {

/// Masses are summed in groups of so many, one after the other, and then the groups' sums likewise: short enough chains
/// for the threads of a GPU.
inline constexpr unsigned draw_group = 32;

/// A trial is better than another where its sum of masses is below so much of the other's. Two rows that are near to
/// each other alone, of equal weight, leave the same mass: which sum is less is then a matter of rounding, and of the
/// order of additions, so the first one is kept. Rounding moves a sum by less: it is of at most some 2¹² partial ones.
inline constexpr double share_of_better = 1 - 0x1p-40;

}  // namespace shoal
