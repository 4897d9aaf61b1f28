// Bars: the weights of components, alone or next to another set.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/chart.hpp"
#include "report/frame.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double width = 520;
constexpr double height = 400;
constexpr std::size_t most_names = 40;
constexpr double widest_bar = 46;

}  // namespace

picture draw(const bar_chart& chart) {
  const std::size_t shown = std::min(chart.names.size(), most_names);
  std::vector<double> heights{0};
  std::vector<legend_entry> legend;
  for (const bar_series& series : chart.series) {
    if (series.values.size() != chart.names.size())
      throw bad_argument(fmt::format("the bars {} have {} values for {} names; give one for each", series.name,
                                     series.values.size(), chart.names.size()));
    heights.insert(heights.end(), series.values.begin(), series.values.begin() + static_cast<std::ptrdiff_t>(shown));
    if (chart.series.size() > 1) legend.push_back({legend_mark::bar, series.colour, series.name});
  }
  range tall = range_of(heights);
  tall.low = 0;
  tall.high = tall.high > 0 ? 1.05 * tall.high : 1;

  axis names;
  names.label = chart.x_label;
  names.shown = {-0.5, std::max<double>(static_cast<double>(shown), 1) - 0.5};
  for (std::size_t i = 0; i < shown; ++i) {
    names.ticks.push_back(static_cast<double>(i));
    names.tick_labels.push_back(shorten(chart.names[i], 12));
  }
  const frame plot(width, height, names, make_axis(chart.y_label, tall, 5), legend, false);

  std::string marks;
  const double slot = std::abs(plot.x_scale().factor());
  const auto side = static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
  const double bar = std::min(widest_bar, 0.78 * slot / side);
  for (std::size_t s = 0; s < chart.series.size(); ++s)
    for (std::size_t i = 0; i < shown; ++i) {
      const double value = chart.series[s].values[i];
      if (!std::isfinite(value) || value <= 0) continue;
      const double left = plot.x(static_cast<double>(i)) + (static_cast<double>(s) - side / 2) * bar;
      const double top = plot.y(std::min(value, tall.high));
      const int colour = chart.series.size() == 1 ? static_cast<int>(i) : chart.series[s].colour;
      marks += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}: {}</title></rect>)",
                           fill_class(colour), coordinate(left), coordinate(top), coordinate(0.94 * bar),
                           coordinate(plot.bottom() - top), escape(chart.names[i]), number(value, 4));
    }
  picture drawing{chart.title, chart.description, {}, width, height, plot.draw(marks)};
  if (shown == 0) drawing.note = "There is nothing to draw.";
  if (shown < chart.names.size())
    drawing.note = fmt::format("The first {} of {} are drawn.", count(shown), count(chart.names.size()));
  return drawing;
}

}  // namespace shoal::report
