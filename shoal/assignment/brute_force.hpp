// Every assignment, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// Columns that the brute force still takes: 12! is half a billion assignments.
inline constexpr std::size_t most_brute_force_columns = 12;

/// The column of each row in the best of all assignments of costs [n][m], n ≤ m ≤ 12; of equal ones the first in the
/// order of Heap (1963), which begins with every row at its own number. Empty when each needs a forbidden pair.
std::vector<std::size_t> brute_force(matrix_view<const double> costs);

}  // namespace shoal::assignment
