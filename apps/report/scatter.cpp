// Two columns against each other, and every pair of the first few.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/subsample.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double scatter_width = 520;
constexpr double scatter_height = 460;
constexpr std::size_t most_matrix_columns = 5;
constexpr std::size_t most_matrix_rows = 1500;

double dot_size(std::size_t rows) { return rows <= 400 ? 6.5 : rows <= 1600 ? 4.6 : 3.4; }

bool has_contours(const cloud& data) {
  return std::any_of(data.shapes.begin(), data.shapes.end(), [](const auto& s) { return !s.covariance.empty(); });
}

std::string describe(const cloud& data, const std::string& columns) {
  return fmt::format("{} rows by {}, coloured by {}{}.", count(data.rows.rows()), columns, data.group_word,
                     data.shapes.empty() ? "" : ", with the means marked");
}

// One cell of the matrix: frame, grid, dots, contours.
std::string panel(const cloud& data, const std::vector<std::size_t>& rows, std::size_t x_column, std::size_t y_column,
                  const axis& x_axis, const axis& y_axis, double left, double top, double size, dots& seen) {
  const scale x(x_axis.shown, left, left + size);
  const scale y(y_axis.shown, top + size, top);
  std::string grid;
  for (const double tick : x_axis.ticks)
    grid += fmt::format("M{} {}v{}", coordinate(x(tick)), coordinate(top), coordinate(size));
  for (const double tick : y_axis.ticks)
    grid += fmt::format("M{} {}h{}", coordinate(left), coordinate(y(tick)), coordinate(size));
  const dots drawn = draw_dots(data, rows, x_column, y_column, x_axis, y_axis, x, y, 3.2);
  seen.outside = std::max(seen.outside, drawn.outside);
  seen.not_finite = std::max(seen.not_finite, drawn.not_finite);
  return fmt::format(
      R"(<path class="grid" d="{0}"/><svg x="{1}" y="{2}" width="{3}" height="{3}" viewBox="{1} {2} {3} {3}">{4}{5}</svg>)"
      R"(<path class="axis" d="M{1} {2}h{3}v{3}h-{3}z"/>)",
      grid, coordinate(left), coordinate(top), coordinate(size), drawn.body,
      draw_shapes(data, x_column, y_column, x, y, false));
}

}  // namespace

picture draw_scatter(const cloud& data, std::size_t x_column, std::size_t y_column, std::string title) {
  check(data);
  if (std::max(x_column, y_column) >= data.rows.columns())
    throw bad_argument(fmt::format("column {} of {} cannot be drawn; columns count from 0",
                                   std::max(x_column, y_column), data.rows.columns()));
  const axis x_axis = make_axis(column_name(data, x_column), column_range(data, x_column), 6);
  const axis y_axis = make_axis(column_name(data, y_column), column_range(data, y_column), 6);
  const frame plot(scatter_width, scatter_height, x_axis, y_axis, cloud_legend(data, has_contours(data)));
  std::vector<std::size_t> rows(data.rows.rows());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const dots drawn =
      draw_dots(data, rows, x_column, y_column, x_axis, y_axis, plot.x_scale(), plot.y_scale(), dot_size(rows.size()));
  const std::string shapes = draw_shapes(data, x_column, y_column, plot.x_scale(), plot.y_scale(), true);
  const std::string columns = column_name(data, x_column) + " and " + column_name(data, y_column);
  return {std::move(title), describe(data, columns), cloud_note(rows.size(), rows.size(), drawn),
          scatter_width,    scatter_height,          plot.draw(drawn.body + shapes)};
}

picture draw_scatter_matrix(const cloud& data, std::size_t columns, std::string title) {
  check(data);
  columns = std::min({columns, most_matrix_columns, data.rows.columns()});
  if (columns < 2) throw bad_argument(fmt::format("a scatter matrix needs two columns or more, not {}", columns));
  constexpr double left = 74;
  constexpr double gap = 10;
  constexpr double full_width = 760;
  const auto cells = static_cast<double>(columns - 1);
  const double size = std::min(220.0, (full_width - left - 12 - gap * (cells - 1)) / cells);
  const double width = left + cells * size + (cells - 1) * gap + 12;

  const std::vector<std::size_t> rows = subsample(data.rows.rows(), most_matrix_rows);
  double top = 0;
  std::string body = draw_legend(cloud_legend(data, has_contours(data)), left, width - 12, top);
  top += 10;
  std::vector<axis> axes;
  for (std::size_t j = 0; j < columns; ++j)
    axes.push_back(make_axis(shorten(column_name(data, j), 22), column_range(data, j), 3));
  dots seen;
  for (std::size_t i = 1; i < columns; ++i) {
    const double panel_top = top + static_cast<double>(i - 1) * (size + gap);
    for (std::size_t j = 0; j < i; ++j)
      body += panel(data, rows, j, i, axes[j], axes[i], left + static_cast<double>(j) * (size + gap), panel_top, size,
                    seen);
    const scale y(axes[i].shown, panel_top + size, panel_top);
    for (std::size_t t = 0; t < axes[i].ticks.size(); ++t)
      body += fmt::format(R"(<text class="tick end" x="{}" y="{}">{}</text>)", coordinate(left - 6),
                          coordinate(y(axes[i].ticks[t]) + 4), escape(axes[i].tick_labels[t]));
    body += fmt::format(R"a(<text class="middle" transform="translate(14 {}) rotate(-90)">{}</text>)a",
                        coordinate(panel_top + size / 2), escape(axes[i].label));
  }
  const double bottom = top + cells * size + (cells - 1) * gap;
  for (std::size_t j = 0; j + 1 < columns; ++j) {
    const double panel_left = left + static_cast<double>(j) * (size + gap);
    const scale x(axes[j].shown, panel_left, panel_left + size);
    for (std::size_t t = 0; t < axes[j].ticks.size(); ++t)
      body += fmt::format(R"(<text class="tick middle" x="{}" y="{}">{}</text>)", coordinate(x(axes[j].ticks[t])),
                          coordinate(bottom + 17), escape(axes[j].tick_labels[t]));
    body += fmt::format(R"(<text class="middle" x="{}" y="{}">{}</text>)", coordinate(panel_left + size / 2),
                        coordinate(bottom + 37), escape(axes[j].label));
  }
  std::string note = cloud_note(rows.size(), data.rows.rows(), seen);
  if (columns < data.rows.columns())
    note = fmt::format("The first {} of {} columns are drawn. ", columns, data.rows.columns()) + note;
  return {std::move(title), describe(data, fmt::format("every pair of {} columns", columns)), note, width, bottom + 46,
          std::move(body)};
}

picture draw_cloud(const cloud& data, std::string title) {
  if (data.rows.columns() == 1) return draw_histogram(data, 0, std::move(title));
  if (data.rows.columns() == 2) return draw_scatter(data, 0, 1, std::move(title));
  return draw_scatter_matrix(data, most_matrix_columns, std::move(title));
}

}  // namespace shoal::report
