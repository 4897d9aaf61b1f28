// What every method shares: the check of the costs, and problems with more rows than columns.
#include <shoal/assignment/assignment.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <shoal/assignment/hungarian.hpp>
#include <shoal/core/error.hpp>

namespace shoal::assignment {
namespace {

void check(matrix_view<const double> costs) {
  // A potential is a sum of at most n + m differences of costs.
  const double most =
      std::numeric_limits<double>::max() / (4.0 * static_cast<double>(costs.rows() + costs.columns() + 1));
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    for (std::size_t j = 0; j < costs.columns(); ++j) {
      const double cost = costs(i, j);
      if (std::abs(cost) <= most || cost == std::numeric_limits<double>::infinity()) continue;
      throw bad_data(
          fmt::format("the cost of row {} and column {} is {}; costs are at most {:.3g} in size, or +infinity "
                      "for a pair that is forbidden",
                      i, j, cost, most));
    }
  }
}

std::vector<double> transposed(matrix_view<const double> costs) {
  std::vector<double> out(costs.rows() * costs.columns());
  constexpr std::size_t tile = 16;  // of 128 bytes on both sides
  for (std::size_t first_row = 0; first_row < costs.rows(); first_row += tile) {
    for (std::size_t first_column = 0; first_column < costs.columns(); first_column += tile) {
      for (std::size_t i = first_row; i < std::min(first_row + tile, costs.rows()); ++i) {
        for (std::size_t j = first_column; j < std::min(first_column + tile, costs.columns()); ++j) {
          out[j * costs.rows() + i] = costs(i, j);
        }
      }
    }
  }
  return out;
}

solution solve_wide(matrix_view<const double> costs, assignment::method method) {
  switch (method) {
    case method::hungarian:
      return hungarian(costs);
  }
  throw bad_argument("method must be one of the values of shoal::assignment::method");
}

}  // namespace

solution solve(matrix_view<const double> costs, assignment::method method) {
  check(costs);
  if (costs.rows() <= costs.columns()) return solve_wide(costs, method);
  const std::vector<double> turned = transposed(costs);
  solution found = solve_wide({turned.data(), costs.columns(), costs.rows()}, method);
  std::swap(found.column_of_row, found.row_of_column);
  std::swap(found.row_potentials, found.column_potentials);
  std::swap(found.conflicting_rows, found.conflicting_columns);
  if (!found.feasible) return found;
  found.cost = 0;
  for (std::size_t i = 0; i < costs.rows(); ++i) {
    if (found.column_of_row[i] != unassigned) found.cost += costs(i, found.column_of_row[i]);
  }
  return found;
}

}  // namespace shoal::assignment
