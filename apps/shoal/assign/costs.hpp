// A matrix of costs from a file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <shoal/core/matrix_view.hpp>

namespace shoal::app {

/// What a file of costs holds: the matrix itself, or a line "row, column, cost" for each pair that is allowed.
enum class costs_format { matrix, table };

struct cost_matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  matrix_view<const double> view() const { return {values.data(), rows, columns}; }
};

/// Rows and columns of a table are counted from 0; pairs that it does not list are forbidden. Throws bad_data with the
/// line of a table that names no pair, or one that was named before.
cost_matrix read_costs(const std::string& path, costs_format format);

}  // namespace shoal::app
