// Greedy assignment as it is first thought of.
#include <shoal/assignment/greedy_naive.hpp>

#include <algorithm>
#include <limits>

namespace shoal::assignment {

std::vector<std::size_t> greedy_naive(matrix_view<const double> costs) {
  std::vector<std::size_t> column_of_row(costs.rows(), unassigned);
  std::vector<bool> taken(costs.columns(), false);
  for (std::size_t pairs = std::min(costs.rows(), costs.columns()); pairs > 0; --pairs) {
    double least = std::numeric_limits<double>::infinity();
    std::size_t row = unassigned;
    std::size_t column = unassigned;
    for (std::size_t i = 0; i < costs.rows(); ++i) {
      if (column_of_row[i] != unassigned) continue;
      for (std::size_t j = 0; j < costs.columns(); ++j) {
        if (taken[j] || !(costs(i, j) < least)) continue;
        least = costs(i, j);
        row = i;
        column = j;
      }
    }
    if (row == unassigned) break;
    column_of_row[row] = column;
    taken[column] = true;
  }
  return column_of_row;
}

}  // namespace shoal::assignment
