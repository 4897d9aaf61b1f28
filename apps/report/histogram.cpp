// One column: its histogram under the density of the mixture.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double width = 520;
constexpr double height = 400;
constexpr std::size_t curve_points = 240;

// Freedman & Diaconis (1981): width 2·IQR·n^(−1/3), within sensible numbers of bins.
std::size_t bins_for(std::vector<double> values, const range& shown) {
  if (values.size() < 2) return 10;
  std::sort(values.begin(), values.end());
  const double spread = values[values.size() * 3 / 4] - values[values.size() / 4];
  const double bin = 2 * spread / std::cbrt(static_cast<double>(values.size()));
  const double bins = bin > 0 ? (shown.high - shown.low) / bin : 40;
  // The rule takes several groups for one wide one, so many rows get more bins than it asks for.
  return static_cast<std::size_t>(std::clamp(std::ceil(bins), values.size() < 100 ? 10.0 : 24.0, 80.0));
}

double normal_density(double x, double mean, double variance) {
  const double z = x - mean;
  return std::exp(-0.5 * z * z / variance) / std::sqrt(2 * std::numbers::pi * variance);
}

}  // namespace

density column_density(const cloud& data, const std::vector<std::size_t>& rows, std::size_t column,
                       const range& shown) {
  density out;
  std::vector<double> values;
  for (const std::size_t i : rows) {
    const double value = data.rows(i, column);
    if (!std::isfinite(value))
      ++out.not_finite;
    else if (value < shown.low || value > shown.high)
      ++out.outside;
    else
      values.push_back(value);
  }
  out.bars.assign(bins_for(values, shown), 0);
  const double bin = (shown.high - shown.low) / static_cast<double>(out.bars.size());
  const double share = 1 / (static_cast<double>(values.size() + out.outside) * bin);
  for (const double value : values)
    out.bars[std::min(out.bars.size() - 1, static_cast<std::size_t>((value - shown.low) / bin))] += share;

  const std::size_t columns = data.rows.columns();
  const double step = (shown.high - shown.low) / (curve_points - 1);
  for (const group_shape& shape : data.shapes) {
    const double variance = shape.covariance.empty() ? 0 : shape.covariance[column * columns + column];
    if (!(variance > 0) || !std::isfinite(variance)) {
      out.curves.emplace_back();
      continue;
    }
    out.sum.resize(curve_points, 0);
    std::vector<double> curve;
    for (std::size_t p = 0; p < curve_points; ++p) {
      const double x = shown.low + static_cast<double>(p) * step;
      curve.push_back(shape.weight * normal_density(x, shape.mean[column], variance));
      out.sum[p] += curve.back();
    }
    out.curves.push_back(std::move(curve));
  }
  // A component far narrower than a bin would flatten the histogram: its peak leaves the frame instead.
  const double tallest_bar = *std::max_element(out.bars.begin(), out.bars.end());
  out.greatest = tallest_bar;
  for (const double value : out.sum)
    if (std::isfinite(value))
      out.greatest = std::max(out.greatest, tallest_bar > 0 ? std::min(value, 2 * tallest_bar) : value);
  return out;
}

std::string draw_density(const density& shape, const range& shown, const scale& x, const scale& y) {
  std::string marks;
  const double bin = (shown.high - shown.low) / static_cast<double>(shape.bars.size());
  for (std::size_t b = 0; b < shape.bars.size(); ++b) {
    if (shape.bars[b] <= 0) continue;
    const double left = x(shown.low + static_cast<double>(b) * bin);
    const double right = x(shown.low + static_cast<double>(b + 1) * bin);
    const double gap = right - left > 4 ? 1 : 0;
    marks +=
        fmt::format(R"(<rect class="bars" x="{}" y="{}" width="{}" height="{}"/>)", coordinate(left),
                    coordinate(y(shape.bars[b])), coordinate(right - left - gap), coordinate(y(0) - y(shape.bars[b])));
  }
  const double step = (shown.high - shown.low) / (curve_points - 1);
  const auto path = [&](const std::vector<double>& curve) {
    std::string d;
    for (std::size_t p = 0; p < curve.size(); ++p)
      d += fmt::format("{}{} {}", p == 0 ? 'M' : 'L', coordinate(x(shown.low + static_cast<double>(p) * step)),
                       coordinate(std::max(-1e4, y(curve[p]))));
    return d;
  };
  // Groups are areas and the mixture a line over them: where one group is alone its curve is the mixture's.
  for (std::size_t k = 0; k < shape.curves.size(); ++k)
    if (!shape.curves[k].empty())
      marks += fmt::format(R"(<path class="area {}" d="{}V{}H{}z"/>)", fill_class(static_cast<int>(k)),
                           path(shape.curves[k]), coordinate(y(0)), coordinate(x(shown.low)));
  if (!shape.sum.empty())
    marks += fmt::format(R"(<path class="line {}" d="{}"/>)", stroke_class(ink_colour), path(shape.sum));
  return marks;
}

picture draw_histogram(const cloud& data, std::size_t column, std::string title) {
  check(data);
  if (column >= data.rows.columns())
    throw bad_argument(
        fmt::format("column {} of {} cannot be drawn; columns count from 0", column, data.rows.columns()));
  const range shown = column_range(data, column);
  std::vector<std::size_t> rows(data.rows.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const density shape = column_density(data, rows, column, shown);
  std::vector<legend_entry> legend = cloud_legend(data, false);
  if (!shape.sum.empty()) legend.push_back({legend_mark::line, ink_colour, "mixture density"});
  const frame plot(width, height, make_axis(column_name(data, column), shown, 7),
                   make_axis("density", {0, shape.greatest > 0 ? 1.08 * shape.greatest : 1}, 5), legend, false);
  std::string marks = draw_density(shape, shown, plot.x_scale(), plot.y_scale());
  for (std::size_t k = 0; k < data.shapes.size(); ++k)
    if (std::isfinite(data.shapes[k].mean[column]))
      marks += cross(plot.x(data.shapes[k].mean[column]), plot.bottom() - 9, static_cast<int>(k));
  const std::string description =
      fmt::format("Histogram of {} over {} rows{}.", column_name(data, column), count(rows.size()),
                  shape.sum.empty() ? "" : " with the mixture's density");
  dots seen;
  seen.outside = shape.outside;
  seen.not_finite = shape.not_finite;
  return {std::move(title), description, cloud_note(rows.size(), rows.size(), seen), width, height, plot.draw(marks)};
}

}  // namespace shoal::report
