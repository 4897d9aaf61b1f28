// Which rows are drawn when there are too many to draw.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/io/row_source.hpp>

namespace shoal::report {

/// Rows of a large source, held in float64 for drawing.
struct row_sample {
  std::vector<std::size_t> indices;  ///< ascending, distinct
  std::vector<double> values;        ///< [indices][columns]
  std::size_t columns = 0;
  std::size_t rows_in_all = 0;

  matrix_view<const double> rows() const { return {values.data(), indices.size(), columns}; }
};

/// At most `at_most` distinct row numbers below `rows`, ascending: all of them, or one from each of `at_most` equal
/// stretches, at a place fixed by a hash, so that neither the order of the rows nor a period in them shows. The same
/// arguments always give the same rows.
std::vector<std::size_t> subsample(std::size_t rows, std::size_t at_most);

/// Reads those rows. Throws io_error as the source does.
row_sample sample_rows(const row_source<float>& source, std::size_t at_most = 4000);
row_sample sample_rows(const row_source<double>& source, std::size_t at_most = 4000);

}  // namespace shoal::report
