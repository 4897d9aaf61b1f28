#include <shoal/estimation/check_spread.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal {

std::vector<double> column_spans(const data_summary& summary, std::span<const double> points) {
  const std::size_t columns = summary.columns;
  std::vector<double> least = summary.minimum, greatest = summary.maximum;
  for (std::size_t at = 0; at < points.size(); at += columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      least[j] = std::min(least[j], points[at + j]);
      greatest[j] = std::max(greatest[j], points[at + j]);
    }
  }
  for (std::size_t j = 0; j < columns; ++j) greatest[j] -= least[j];
  return greatest;
}

void check_spread(const data_summary& summary, std::span<const double> points) {
  constexpr double narrowest = 1 / widest_span<double>;
  double span = 0;
  for (const double one : column_spans(summary, points)) span = std::max(span, one);
  if (span == 0 || span >= narrowest) return;
  throw bad_data(fmt::format(
      "no column spans more than {:.3g}, and squares of less than {:.0e} leave the range of float64: multiply the rows "
      "by a constant",
      span, narrowest));
}

}  // namespace shoal
