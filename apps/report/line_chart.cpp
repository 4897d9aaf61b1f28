// Lines: a figure by iteration, a criterion against K.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/chart.hpp"
#include "report/frame.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double width = 520;
constexpr double height = 400;
constexpr std::size_t most_markers = 40;

bool drawable(const line_series& series, std::size_t i) {
  return std::isfinite(series.x[i]) && std::isfinite(series.y[i]);
}

std::string draw_series(const line_series& series, const frame& plot) {
  std::string path;
  std::string markers;
  std::string bars;
  bool pen_down = false;
  std::size_t points = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!drawable(series, i)) {
      pen_down = false;
      continue;
    }
    const std::string at = fmt::format("{} {}", coordinate(plot.x(series.x[i])), coordinate(plot.y(series.y[i])));
    path += (pen_down ? "L" : "M") + at;
    markers += "M" + at + "h0";
    if (!series.errors.empty() && std::isfinite(series.errors[i])) {
      bars +=
          fmt::format("M{} {}V{}", coordinate(plot.x(series.x[i])), coordinate(plot.y(series.y[i] - series.errors[i])),
                      coordinate(plot.y(series.y[i] + series.errors[i])));
    }
    pen_down = true;
    ++points;
  }
  if (points == 0) return {};
  std::string out = fmt::format(R"(<path class="line {}{}" d="{}"/>)", stroke_class(series.colour),
                                series.dashed ? " dashed" : "", path);
  if (!bars.empty()) out += fmt::format(R"(<path class="line {}" d="{}"/>)", stroke_class(series.colour), bars);
  if (points <= most_markers)
    out += fmt::format(R"(<path class="dot {}" stroke-width="7" d="{}"/>)", stroke_class(series.colour), markers);
  return out;
}

// True when another line passes below the point, where the text would otherwise stand.
bool crowded_below(const line_chart& chart, const line_series& series, std::size_t best) {
  for (const line_series& other : chart.series)
    for (std::size_t i = 0; &other != &series && i < other.x.size(); ++i)
      if (drawable(other, i) && other.x[i] == series.x[best] && other.y[i] <= series.y[best]) return true;
  return false;
}

std::string mark_least(const line_chart& chart, const line_series& series, const frame& plot) {
  std::size_t best = series.x.size();
  for (std::size_t i = 0; i < series.x.size(); ++i)
    if (drawable(series, i) && (best == series.x.size() || series.y[i] < series.y[best])) best = i;
  if (best == series.x.size()) return {};
  const double x = plot.x(series.x[best]);
  const double y = plot.y(series.y[best]);
  const std::string text = chart.mark_name + number(series.x[best]);
  // Near the bottom or the sides the text moves inwards. Above the point it starts there, clear of a line that falls
  // steeply towards it.
  const bool above = y + 24 >= plot.bottom() || crowded_below(chart, series, best);
  const double half = text_width(text) / 2;
  const double text_x = std::clamp(x + (above ? half : 0), plot.left() + half + 2, plot.right() - half - 2);
  const double text_y = above ? y - 13 : y + 23;
  return fmt::format(R"(<circle class="ring {}" cx="{}" cy="{}" r="6"/>)", stroke_class(series.colour), coordinate(x),
                     coordinate(y)) +
         fmt::format(R"(<text class="mean middle" x="{}" y="{}">{}</text>)", coordinate(text_x), coordinate(text_y),
                     escape(text));
}

}  // namespace

picture draw(const line_chart& chart) {
  std::vector<double> xs;
  std::vector<double> ys;
  std::vector<legend_entry> legend;
  std::size_t left_out = 0;
  for (const line_series& series : chart.series) {
    if (series.x.size() != series.y.size() || (!series.errors.empty() && series.errors.size() != series.x.size()))
      throw bad_argument(fmt::format("the line {} has {} x and {} y values; give as many of each, and of errors",
                                     series.name, series.x.size(), series.y.size()));
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      if (!drawable(series, i)) {
        ++left_out;
        continue;
      }
      xs.push_back(series.x[i]);
      ys.push_back(series.y[i]);
      if (!series.errors.empty() && std::isfinite(series.errors[i])) {
        ys.push_back(series.y[i] - series.errors[i]);
        ys.push_back(series.y[i] + series.errors[i]);
      }
    }
    if (chart.series.size() > 1)
      legend.push_back({series.dashed ? legend_mark::dashed : legend_mark::line, series.colour, series.name});
  }
  const frame plot(width, height, make_axis(chart.x_label, range_of(xs, 0.03), 7, chart.whole_x),
                   make_axis(chart.y_label, range_of(ys, 0.09), 5), legend);
  std::string marks;
  std::string over;
  for (const line_series& series : chart.series) marks += draw_series(series, plot);
  for (const line_series& series : chart.series)
    if (series.mark_least) over += mark_least(chart, series, plot);
  picture drawing{chart.title, chart.description, {}, width, height, plot.draw(marks, over)};
  if (xs.empty())
    drawing.note = "There is nothing to draw.";
  else if (left_out > 0)
    drawing.note = count(left_out) + (left_out == 1 ? " value is" : " values are") + " not finite and left out.";
  return drawing;
}

}  // namespace shoal::report
