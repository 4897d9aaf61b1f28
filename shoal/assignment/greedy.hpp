// The least cost that is left, again and again, from a sorted queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

/// What greedy_naive returns, by sorting: at most O(nm log nm). Only the least costs are collected and sorted, then
/// those of the rows and columns that these left free, and so on.
std::vector<std::size_t> greedy(matrix_view<const double> costs);

}  // namespace shoal::assignment
