// The least cost that is left, again and again, looked for anew each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// The column of each row, or unassigned: takes the least cost whose row and column are free, of equal ones the first
/// in row order, and goes on until one side is used up or only forbidden pairs are left. O(n²m) for n ≤ m.
std::vector<std::size_t> greedy_naive(matrix_view<const double> costs);

}  // namespace shoal::assignment
