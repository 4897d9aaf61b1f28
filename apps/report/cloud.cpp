// Dots, contours and means of a cloud of rows.
#include "report/cloud.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/ellipse.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t most_legend_groups = 12;
constexpr std::size_t most_numbered = 40;
// Contours longer than this cannot be told from nothing in the picture, and overflow some renderers.
constexpr double longest_axis = 1e5;

bool inside(const range& shown, double value) { return value >= shown.low && value <= shown.high; }

}  // namespace

void check(const cloud& data) {
  const std::size_t columns = data.rows.columns();
  if (!data.labels.empty() && data.labels.size() != data.rows.rows())
    throw bad_argument(fmt::format("{} labels for {} rows; give one a row", data.labels.size(), data.rows.rows()));
  for (std::size_t i = 0; i < data.labels.size(); ++i)
    if (data.labels[i] < 0)
      throw bad_argument(fmt::format("the label of row {} is {}; labels start at 0", i, data.labels[i]));
  if (!data.column_names.empty() && data.column_names.size() != columns)
    throw bad_argument(fmt::format("{} names for {} columns; give one a column", data.column_names.size(), columns));
  for (std::size_t k = 0; k < data.shapes.size(); ++k) {
    const group_shape& shape = data.shapes[k];
    if (shape.mean.size() != columns || (!shape.covariance.empty() && shape.covariance.size() != columns * columns))
      throw bad_argument(fmt::format("{} {} has a mean of {} values and a covariance of {}; the rows have {} columns",
                                     data.group_word, k, shape.mean.size(), shape.covariance.size(), columns));
  }
}

std::string column_name(const cloud& data, std::size_t column) {
  return data.column_names.empty() ? fmt::format("column {}", column) : data.column_names[column];
}

range column_range(const cloud& data, std::size_t column) {
  std::vector<double> values;
  for (std::size_t i = 0; i < data.rows.rows(); ++i) values.push_back(data.rows(i, column));
  range shown = robust_range(values, 0.04);
  for (const group_shape& shape : data.shapes) {
    const double mean = shape.mean[column];
    if (!std::isfinite(mean) || std::abs(mean) > 1e300) continue;
    if (values.empty() && &shape == &data.shapes.front()) shown = range_of(std::span(&mean, 1), 0.1);
    const double room = 0.04 * (shown.high - shown.low);
    shown.low = std::min(shown.low, mean - room);
    shown.high = std::max(shown.high, mean + room);
  }
  return shown;
}

std::vector<legend_entry> cloud_legend(const cloud& data, bool contours) {
  std::vector<legend_entry> legend;
  std::size_t groups = data.shapes.empty() ? data.group_names.size() : data.shapes.size();
  for (const std::int32_t label : data.labels) groups = std::max(groups, static_cast<std::size_t>(label) + 1);
  if (groups > 1 && groups <= most_legend_groups)
    for (std::size_t k = 0; k < groups; ++k) {
      // A group without a name has no rows here: its colour only stays reserved.
      if (k < data.group_names.size() && data.group_names[k].empty()) continue;
      // Numbers follow the word once: "component 0", "1", "2" reads well and leaves room.
      const std::string name = k < data.group_names.size() ? data.group_names[k]
                               : k == 0                    ? data.group_word + " 0"
                                                           : std::to_string(k);
      legend.push_back({legend_mark::dot, static_cast<int>(k), shorten(name, 20)});
    }
  if (!data.shapes.empty()) {
    legend.push_back({legend_mark::cross, ink_colour, data.mean_word});
    if (contours) {
      legend.push_back({legend_mark::line, ink_colour, "1σ"});
      legend.push_back({legend_mark::dashed, ink_colour, "2σ"});
    }
  }
  return legend;
}

dots draw_dots(const cloud& data, const std::vector<std::size_t>& rows, std::size_t x_column, std::size_t y_column,
               const axis& x_axis, const axis& y_axis, const scale& x, const scale& y, double size) {
  dots drawn;
  std::string body;
  for (const std::size_t i : rows) {
    const double x_value = data.rows(i, x_column);
    const double y_value = data.rows(i, y_column);
    if (!std::isfinite(x_value) || !std::isfinite(y_value)) {
      ++drawn.not_finite;
    } else if (!inside(x_axis.shown, x_value) || !inside(y_axis.shown, y_value)) {
      ++drawn.outside;
    } else {
      body += dot(x(x_value), y(y_value), data.labels.empty() ? neutral_colour : data.labels[i]);
    }
  }
  const double opacity = rows.size() <= 400 ? 0.62 : rows.size() <= 1600 ? 0.5 : 0.38;
  drawn.body =
      fmt::format(R"(<g class="dot" stroke-width="{}" stroke-opacity="{}">{}</g>)", coordinate(size), opacity, body);
  return drawn;
}

std::string draw_shapes(const cloud& data, std::size_t x_column, std::size_t y_column, const scale& x, const scale& y,
                        bool numbered) {
  const std::size_t columns = data.rows.columns();
  std::string contours;
  std::string means;
  for (std::size_t k = 0; k < data.shapes.size(); ++k) {
    const group_shape& shape = data.shapes[k];
    const double mean_x = shape.mean[x_column];
    const double mean_y = shape.mean[y_column];
    if (!std::isfinite(mean_x) || !std::isfinite(mean_y)) continue;
    const auto group = static_cast<int>(k);
    if (!shape.covariance.empty()) {
      // In page units, where y points down and both axes have their own scale, the contour is an ellipse again.
      const auto entry = [&](std::size_t i, std::size_t j) { return shape.covariance[i * columns + j]; };
      const ellipse contour = covariance_ellipse(entry(x_column, x_column) * x.factor() * x.factor(),
                                                 entry(x_column, y_column) * x.factor() * y.factor(),
                                                 entry(y_column, y_column) * y.factor() * y.factor());
      if (contour.major > 0 && contour.major < longest_axis)
        for (const int sigmas : {1, 2}) {
          const std::string shape_attributes = fmt::format(
              R"a(rx="{}" ry="{}" transform="translate({} {}) rotate({})")a", coordinate(sigmas * contour.major),
              coordinate(std::max(0.5, sigmas * contour.minor)), coordinate(x(mean_x)), coordinate(y(mean_y)),
              coordinate(contour.angle * 180 / std::numbers::pi));
          contours += fmt::format(R"(<ellipse class="halo" {0}/><ellipse class="line {1}{2}" {0}/>)", shape_attributes,
                                  stroke_class(group), sigmas == 2 ? " dashed" : "");
        }
    }
    means += cross(x(mean_x), y(mean_y), group, numbered ? 6 : 4);
    if (numbered && data.shapes.size() > 1 && data.shapes.size() <= most_numbered)
      means += fmt::format(R"(<text class="mean" x="{}" y="{}">{}</text>)", coordinate(x(mean_x) + 8),
                           coordinate(y(mean_y) - 7), k);
  }
  return contours + means;
}

std::string cloud_note(std::size_t drawn, std::size_t rows, const dots& seen) {
  std::string note;
  if (rows == 0) note = "There are no rows to draw. ";
  if (drawn < rows) note += fmt::format("{} of the {} rows are drawn. ", count(drawn), count(rows));
  if (seen.outside > 0)
    note += fmt::format("{} {} outside the frame. ", count(seen.outside), seen.outside == 1 ? "row lies" : "rows lie");
  if (seen.not_finite > 0)
    note += fmt::format("{} {} not finite and left out. ", count(seen.not_finite),
                        seen.not_finite == 1 ? "row is" : "rows are");
  if (!note.empty()) note.pop_back();
  return note;
}

}  // namespace shoal::report
