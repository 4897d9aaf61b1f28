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
constexpr double scatter_height = 400;
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

// The rectangle of one cell: grid below, `marks` cut off at its edges, axis lines around.
std::string cell(const axis& x_axis, const axis* y_axis, const scale& x, const scale& y, double left, double top,
                 double size, const std::string& marks) {
  std::string grid;
  for (const double tick : x_axis.ticks)
    grid += fmt::format("M{} {}v{}", coordinate(x(tick)), coordinate(top), coordinate(size));
  for (const double tick : y_axis != nullptr ? y_axis->ticks : std::vector<double>{})
    grid += fmt::format("M{} {}h{}", coordinate(left), coordinate(y(tick)), coordinate(size));
  return fmt::format(
      R"(<path class="grid" d="{0}"/><svg x="{1}" y="{2}" width="{3}" height="{3}" viewBox="{1} {2} {3} {3}">{4}</svg>)"
      R"(<path class="axis" d="M{1} {2}h{3}v{3}h-{3}z"/>)",
      grid, coordinate(left), coordinate(top), coordinate(size), marks);
}

// Cells of a matrix of `columns` columns. Below the diagonal dots, on it densities, above it contours.
struct matrix_layout {
  double left = 0;
  double top = 0;
  double size = 0;
  double gap = 8;
  double at(double start, std::size_t i) const { return start + static_cast<double>(i) * (size + gap); }
};

std::string matrix_cell(const cloud& data, const std::vector<std::size_t>& rows, const std::vector<axis>& axes,
                        std::size_t i, std::size_t j, bool contours, const matrix_layout& at, dots& seen) {
  const double left = at.at(at.left, j);
  const double top = at.at(at.top, i);
  const scale x(axes[j].shown, left, left + at.size);
  if (i == j) {
    const density shape = column_density(data, rows, j, axes[j].shown);
    const scale y({0, shape.greatest > 0 ? 1.08 * shape.greatest : 1}, top + at.size, top);
    return cell(axes[j], nullptr, x, y, left, top, at.size, draw_density(shape, axes[j].shown, x, y));
  }
  const scale y(axes[i].shown, top + at.size, top);
  if (i < j) {
    if (!contours) return {};
    return cell(axes[j], &axes[i], x, y, left, top, at.size, draw_shapes(data, j, i, x, y, false));
  }
  const dots drawn = draw_dots(data, rows, j, i, axes[j], axes[i], x, y, 3.2);
  seen.outside = std::max(seen.outside, drawn.outside);
  seen.not_finite = std::max(seen.not_finite, drawn.not_finite);
  // Without contours above the diagonal, the means are marked on the dots.
  const std::string means = contours ? "" : draw_shapes(data, j, i, x, y, false);
  return cell(axes[j], &axes[i], x, y, left, top, at.size, drawn.body + means);
}

// Ticks and name of column `i` at the left edge and below the matrix. A label that would reach into the next cell's
// room is left out.
std::string matrix_labels(const axis& column, const matrix_layout& at, std::size_t i, double bottom, bool left_ticks) {
  const double top = at.at(at.top, i);
  const double left = at.at(at.left, i);
  const scale y(column.shown, top + at.size, top);
  const scale x(column.shown, left, left + at.size);
  constexpr double half_line = 6;
  std::string out;
  for (std::size_t t = 0; t < column.ticks.size(); ++t) {
    const std::string text = escape(column.tick_labels[t]);
    const double across = y(column.ticks[t]);
    if (left_ticks && across > top + half_line - at.gap / 2 && across < top + at.size - half_line + at.gap / 2)
      out += fmt::format(R"(<text class="tick end" x="{}" y="{}">{}</text>)", coordinate(at.left - 6),
                         coordinate(across + 4), text);
    const double along = x(column.ticks[t]);
    const double half = text_width(column.tick_labels[t]) / 2;
    if (along > left + half - at.gap / 2 && along < left + at.size - half + at.gap / 2)
      out += fmt::format(R"(<text class="tick middle" x="{}" y="{}">{}</text>)", coordinate(along),
                         coordinate(bottom + 17), text);
  }
  out += fmt::format(R"a(<text class="middle" transform="translate(14 {}) rotate(-90)">{}</text>)a",
                     coordinate(top + at.size / 2), escape(column.label));
  out += fmt::format(R"(<text class="middle" x="{}" y="{}">{}</text>)", coordinate(left + at.size / 2),
                     coordinate(bottom + 37), escape(column.label));
  return out;
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
  constexpr double full_width = 780;
  constexpr double largest_cell = 200;
  const auto cells = static_cast<double>(columns);
  matrix_layout at;
  at.left = 74;
  at.size = std::min(largest_cell, (full_width - at.left - 12 - at.gap * (cells - 1)) / cells);
  const double right = at.left + cells * at.size + (cells - 1) * at.gap;
  const double width = right + 12;

  const bool contours = has_contours(data);
  const std::vector<std::size_t> rows = subsample(data.rows.rows(), most_matrix_rows);
  std::string body = draw_legend(cloud_legend(data, contours), at.left, right, at.top);
  at.top += 10;
  const double bottom = at.top + cells * at.size + (cells - 1) * at.gap;
  std::vector<axis> axes;
  for (std::size_t j = 0; j < columns; ++j)
    axes.push_back(make_axis(shorten(column_name(data, j), 18), column_range(data, j), 3));
  dots seen;
  body += R"(<g class="thin">)";
  for (std::size_t i = 0; i < columns; ++i)
    for (std::size_t j = 0; j < columns; ++j) body += matrix_cell(data, rows, axes, i, j, contours, at, seen);
  body += "</g>";
  // The first row holds a density, whose height is no value of the column, unless contours stand next to it.
  for (std::size_t i = 0; i < columns; ++i) body += matrix_labels(axes[i], at, i, bottom, i > 0 || contours);
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
