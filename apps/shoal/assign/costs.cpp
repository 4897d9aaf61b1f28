// Reads a matrix of costs, or a table of pairs.
#include "assign/costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/io/io.hpp>
#include <shoal/io/printable.hpp>

namespace shoal::app {
namespace {

// From here on float64 skips whole numbers, so that the answer would be that of other costs.
constexpr double inexact = 0x1p53;

void refuse_rounding(const std::string& path, const cost_matrix& costs) {
  const auto found =
      std::find_if(costs.values.begin(), costs.values.end(), [](double cost) { return std::abs(cost) >= inexact; });
  if (found == costs.values.end()) return;
  const auto at = static_cast<std::size_t>(found - costs.values.begin());
  throw bad_data(
      fmt::format("{}: row {}, column {} (counting from 0) is a whole number of 2^53 or more in size, which would be "
                  "rounded; divide the costs or subtract a constant",
                  printable_path(path), at / costs.columns, at % costs.columns));
}

cost_matrix whole(const std::string& path) {
  read_options options;
  options.infinite_values = true;
  data_file file(path);
  const std::string element = file.describe_start().element;
  const opened_rows<double> data = file.read<double>(options);
  cost_matrix out{data.rows->rows(), data.rows->columns(), {}};
  aligned_buffer<double> buffer;
  const matrix_view<const double> view = data.rows->read(0, out.rows, buffer);
  out.values.reserve(out.rows * out.columns);
  for (std::size_t i = 0; i < out.rows; ++i)
    out.values.insert(out.values.end(), view.row(i), view.row(i) + out.columns);
  if (element == "int64" || element == "uint64") refuse_rounding(path, out);
  return out;
}

}  // namespace

cost_matrix read_costs(const std::string& path, costs_format format) {
  cost_matrix read = whole(path);
  if (format == costs_format::matrix) return read;
  if (read.columns != 3) {
    throw bad_data(fmt::format("{}: a table has the columns row, column and cost; got {} columns", path, read.columns));
  }
  cost_matrix out;
  for (std::size_t n = 0; n < read.rows; ++n) {
    const double* const line = &read.values[3 * n];
    for (const double place : {line[0], line[1]}) {
      if (!(place >= 0 && place < 0x1p31 && place == std::floor(place))) {
        throw bad_data(fmt::format("{}: line {} of the table names row {} and column {}; give whole numbers from 0",
                                   path, n, line[0], line[1]));
      }
    }
    out.rows = std::max(out.rows, static_cast<std::size_t>(line[0]) + 1);
    out.columns = std::max(out.columns, static_cast<std::size_t>(line[1]) + 1);
  }
  out.values.assign(out.rows * out.columns, std::numeric_limits<double>::infinity());
  for (std::size_t n = 0; n < read.rows; ++n) {
    const double* const line = &read.values[3 * n];
    double& cost = out.values[static_cast<std::size_t>(line[0]) * out.columns + static_cast<std::size_t>(line[1])];
    if (cost != std::numeric_limits<double>::infinity()) {
      throw bad_data(
          fmt::format("{}: line {} of the table names row {} and column {} again", path, n, line[0], line[1]));
    }
    cost = line[2];
  }
  return out;
}

}  // namespace shoal::app
