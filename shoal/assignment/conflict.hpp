// What makes an assignment impossible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include <shoal/assignment/solution.hpp>

namespace shoal::assignment {

/// The rows of a search that began at `free_row` and found no free column, and the `closed` columns, which are all that
/// these rows can have.
inline solution conflict_of(std::size_t free_row, const std::vector<std::size_t>& closed,
                            const std::vector<std::size_t>& row_of_column) {
  solution found;
  found.feasible = false;
  found.cost = std::numeric_limits<double>::infinity();
  found.conflicting_rows.push_back(free_row);
  for (const std::size_t column : closed) found.conflicting_rows.push_back(row_of_column[column]);
  found.conflicting_columns = closed;
  std::sort(found.conflicting_rows.begin(), found.conflicting_rows.end());
  std::sort(found.conflicting_columns.begin(), found.conflicting_columns.end());
  return found;
}

}  // namespace shoal::assignment
