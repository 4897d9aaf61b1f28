// Problems with more rows than columns, turned on their side.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <shoal/assignment/solution.hpp>
#include <shoal/core/matrix_view.hpp>

namespace shoal::assignment {

template <class T>
std::vector<T> transposed(matrix_view<const T> costs) {
  std::vector<T> out(costs.rows() * costs.columns());
  constexpr std::size_t tile = 16;
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

inline void swap_sides(solution& found) {
  std::swap(found.column_of_row, found.row_of_column);
  std::swap(found.row_potentials, found.column_potentials);
  std::swap(found.conflicting_rows, found.conflicting_columns);
}

}  // namespace shoal::assignment
