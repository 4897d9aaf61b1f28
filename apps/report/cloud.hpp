// What the pictures of a cloud of rows share: checks, names, ranges, contours.
#pragma once

#include <string>
#include <vector>

#include "report/axis.hpp"
#include "report/chart.hpp"
#include "report/frame.hpp"

namespace shoal::report {

/// Throws bad_argument when labels or shapes do not fit the rows.
void check(const cloud& data);

/// The column's name, or "column 3".
std::string column_name(const cloud& data, std::size_t column);

/// What the axis of that column shows: its drawn values, without far outliers, and all group means.
range column_range(const cloud& data, std::size_t column);

/// Legend: the groups, up to 12 of them, then what cross and contours mean.
std::vector<legend_entry> cloud_legend(const cloud& data, bool contours);

/// Dots of two columns at the scales given, of the rows listed. Counts the finite rows outside the shown ranges into
/// `outside`, rows that are not finite into `not_finite`.
struct dots {
  std::string body;
  std::size_t outside = 0;
  std::size_t not_finite = 0;
};
dots draw_dots(const cloud& data, const std::vector<std::size_t>& rows, std::size_t x_column, std::size_t y_column,
               const axis& x_axis, const axis& y_axis, const scale& x, const scale& y, double size);

/// Contours at 1 and 2, and the cross with the group's number at the mean.
std::string draw_shapes(const cloud& data, std::size_t x_column, std::size_t y_column, const scale& x, const scale& y,
                        bool numbered);

/// The histogram of one column as a density, and the curves of the groups that have a covariance.
struct density {
  std::vector<double> bars;                 ///< equal bins over the range
  std::vector<std::vector<double>> curves;  ///< by group, weighted, at equal steps over the range; may be empty
  std::vector<double> sum;                  ///< of the curves; empty when there is none
  double greatest = 0;                      ///< what the axis must reach
  std::size_t outside = 0;
  std::size_t not_finite = 0;
};
density column_density(const cloud& data, const std::vector<std::size_t>& rows, std::size_t column, const range& shown);

/// Its bars and curves.
std::string draw_density(const density& shape, const range& shown, const scale& x, const scale& y);

/// The note on what a cloud's picture left out.
std::string cloud_note(std::size_t drawn, std::size_t rows, const dots& seen);

}  // namespace shoal::report
