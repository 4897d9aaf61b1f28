// One column: its histogram under the density of the mixture.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double width = 520;
constexpr double height = 380;
constexpr std::size_t curve_points = 240;

// Freedman & Diaconis (1981): width 2·IQR·n^(−1/3), within sensible numbers of bins.
std::size_t bins_for(std::vector<double> values, const range& shown) {
  if (values.size() < 2) return 10;
  std::sort(values.begin(), values.end());
  const double spread = values[values.size() * 3 / 4] - values[values.size() / 4];
  const double bin = 2 * spread / std::cbrt(static_cast<double>(values.size()));
  const double bins = bin > 0 ? (shown.high - shown.low) / bin : 40;
  return static_cast<std::size_t>(std::clamp(std::ceil(bins), 10.0, 80.0));
}

double normal_density(double x, double mean, double variance) {
  const double z = x - mean;
  return std::exp(-0.5 * z * z / variance) / std::sqrt(2 * std::numbers::pi * variance);
}

}  // namespace

picture draw_histogram(const cloud& data, std::size_t column, std::string title) {
  check(data);
  const std::size_t columns = data.rows.columns();
  if (column >= columns)
    throw bad_argument(fmt::format("column {} of {} cannot be drawn; columns count from 0", column, columns));
  const range shown = column_range(data, column);
  dots seen;
  std::vector<double> values;
  for (std::size_t i = 0; i < data.rows.rows(); ++i) {
    const double value = data.rows(i, column);
    if (!std::isfinite(value))
      ++seen.not_finite;
    else if (value < shown.low || value > shown.high)
      ++seen.outside;
    else
      values.push_back(value);
  }
  const std::size_t bins = bins_for(values, shown);
  const double bin = (shown.high - shown.low) / static_cast<double>(bins);
  std::vector<double> density(bins, 0);
  const double share = 1 / (static_cast<double>(values.size() + seen.outside) * bin);
  for (const double value : values)
    density[std::min(bins - 1, static_cast<std::size_t>((value - shown.low) / bin))] += share;

  // Curves: each group's weighted density, and their sum.
  std::vector<std::vector<double>> curves;
  std::vector<double> sum(curve_points, 0);
  const double step = (shown.high - shown.low) / (curve_points - 1);
  for (const group_shape& shape : data.shapes) {
    std::vector<double> curve;
    const double variance = shape.covariance.empty() ? 0 : shape.covariance[column * columns + column];
    for (std::size_t p = 0; variance > 0 && std::isfinite(variance) && p < curve_points; ++p) {
      const double x = shown.low + static_cast<double>(p) * step;
      curve.push_back(shape.weight * normal_density(x, shape.mean[column], variance));
      sum[p] += curve.back();
    }
    curves.push_back(std::move(curve));
  }
  const bool has_curves = std::any_of(curves.begin(), curves.end(), [](const auto& c) { return !c.empty(); });

  // A component far narrower than a bin would flatten the histogram: its peak leaves the frame instead.
  const double tallest_bar = *std::max_element(density.begin(), density.end());
  double top = tallest_bar;
  for (const double value : sum)
    if (std::isfinite(value)) top = std::max(top, std::min(value, tallest_bar > 0 ? 2 * tallest_bar : value));
  std::vector<legend_entry> legend = cloud_legend(data, false);
  if (has_curves) legend.push_back({legend_mark::line, ink_colour, "mixture density"});
  const frame plot(width, height, make_axis(column_name(data, column), shown, 7),
                   make_axis("density", {0, top > 0 ? 1.08 * top : 1}, 5), legend, false);
  std::string marks;
  for (std::size_t b = 0; b < bins; ++b) {
    const double left = plot.x(shown.low + static_cast<double>(b) * bin);
    const double right = plot.x(shown.low + static_cast<double>(b + 1) * bin);
    const double bar_top = plot.y(density[b]);
    marks += fmt::format(R"(<rect class="bars" x="{}" y="{}" width="{}" height="{}"/>)", coordinate(left),
                         coordinate(bar_top), coordinate(std::max(0.5, right - left - 1)),
                         coordinate(plot.bottom() - bar_top));
  }
  const auto path = [&](const std::vector<double>& curve, const std::string& colour) {
    std::string d;
    for (std::size_t p = 0; p < curve.size(); ++p)
      d += fmt::format("{}{} {}", p == 0 ? 'M' : 'L', coordinate(plot.x(shown.low + static_cast<double>(p) * step)),
                       coordinate(std::max(-1e4, plot.y(curve[p]))));
    return d.empty() ? d : fmt::format(R"(<path class="line {}" d="{}"/>)", colour, d);
  };
  if (has_curves) marks += path(sum, stroke_class(ink_colour));
  for (std::size_t k = 0; k < data.shapes.size(); ++k) {
    marks += path(curves[k], stroke_class(static_cast<int>(k)));
    marks += cross(plot.x(data.shapes[k].mean[column]), plot.bottom() - 9, static_cast<int>(k));
  }
  const std::string description = fmt::format("Histogram of {} over {} rows{}.", column_name(data, column),
                                              count(data.rows.rows()), has_curves ? " with the mixture's density" : "");
  return {std::move(title), description,     cloud_note(data.rows.rows(), data.rows.rows(), seen), width,
          height,           plot.draw(marks)};
}

}  // namespace shoal::report
