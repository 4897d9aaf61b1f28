#include <shoal/estimation/check_spread.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {

double column_span(const data_summary& summary, std::span<const double> points, std::size_t j) {
  double least = summary.minimum[j], greatest = summary.maximum[j];
  for (std::size_t at = j; at < points.size(); at += summary.columns) {
    least = std::min(least, points[at]);
    greatest = std::max(greatest, points[at]);
  }
  return greatest - least;
}

void check_spread(const data_summary& summary, std::span<const double> points) {
  constexpr double narrowest = 1 / widest_span<double>;
  double span = 0;
  for (std::size_t j = 0; j < summary.columns; ++j) span = std::max(span, column_span(summary, points, j));
  if (span == 0 || span >= narrowest) return;
  throw bad_data(fmt::format(
      "no column spans more than {:.3g}, and squares of less than {:.0e} leave the range of float64: multiply the rows "
      "by a constant",
      span, narrowest));
}

}  // namespace shoal
