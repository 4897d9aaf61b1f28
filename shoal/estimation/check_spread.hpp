// Rows that lie too near each other for squared distances.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/data_summary.hpp>

namespace shoal {

/// [columns] from the least to the greatest value of each column, of rows and points [points][columns].
std::vector<double> column_spans(const data_summary& summary, std::span<const double> points);

/// Throws bad_data where rows differ, but in every column by so little that squares of their differences have no digits
/// left in float64: all of them would be as near to one point as to another. `points` are what the rows are measured
/// from, [points][columns]. Columns that vanish beside another are as if constant, and no harm.
void check_spread(const data_summary& summary, std::span<const double> points = {});

}  // namespace shoal
