// Pictures of a self-organizing map.
#include "report/som/map_chart.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/axis.hpp"
#include "report/frame.hpp"
#include "report/som/lattice_cells.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr double picture_width = 520;
constexpr double picture_margin = 10;
constexpr double tallest_map = 430;
constexpr double widest_cell = 56;
constexpr std::int32_t value_shades = 64;  // finer steps are not seen side by side
constexpr std::int32_t purity_steps = 8;
constexpr std::size_t most_planes = 12;
constexpr std::size_t most_label_names = 24;

lattice_cells blank_cells(const map_shape& shape, std::size_t values, const std::string& title) {
  if (values != shape.width * shape.height || values == 0) {
    throw bad_argument(
        fmt::format("{}: {} values are not one for each of {} × {} units", title, values, shape.width, shape.height));
  }
  lattice_cells cells{shape.width, shape.height, shape.hexagonal, {}, {}};
  cells.shade.assign(values, -1);
  return cells;
}

// Of the finite values, without the hundredth that lies far out; a single value has itself at both ends.
range value_range(const std::vector<double>& values) {
  range all{INFINITY, -INFINITY};
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    all.low = std::min(all.low, value);
    all.high = std::max(all.high, value);
  }
  return all.high > all.low && values.size() >= 100 ? robust_range(values) : all;
}

std::string beyond_note(const std::vector<double>& values, const range& shown) {
  const auto beyond = static_cast<std::size_t>(std::count_if(
      values.begin(), values.end(), [&](double value) { return value < shown.low || value > shown.high; }));
  if (beyond == 0) return {};
  return fmt::format("{} in the colour of the scale's end.",
                     beyond == 1 ? "1 unit beyond the scale is" : count(beyond) + " units beyond the scale are");
}

lattice_cells value_cells(const map_shape& shape, const std::vector<double>& values, const range& shown,
                          const std::string& title) {
  lattice_cells cells = blank_cells(shape, values.size(), title);
  for (std::int32_t i = 0; i < value_shades; ++i) cells.shades.push_back(value_colour(i / (value_shades - 1.0)));
  const double length = shown.high - shown.low;
  for (std::size_t u = 0; u < values.size(); ++u) {
    if (!std::isfinite(values[u])) continue;
    const double share = length > 0 ? std::clamp((values[u] - shown.low) / length, 0.0, 1.0) : 0;
    cells.shade[u] = std::min(value_shades - 1, static_cast<std::int32_t>(share * value_shades));
  }
  return cells;
}

double fitting_distance(const lattice_cells& cells, double width, double height) {
  return std::min({width / cells.across(), height / cells.down(), widest_cell});
}

// The colours from left to right, with ticks below.
std::string draw_colour_bar(const range& shown, const std::string& word, double left, double top, double width,
                            double& bottom) {
  constexpr double thick = 10;
  constexpr int steps = 32;
  std::string out;
  for (int i = 0; i < steps; ++i) {
    const double from = left + width * i / steps;
    // One more unit to the right, under the next step: no seam shows.
    out += fmt::format(R"(<rect fill="{}" x="{}" y="{}" width="{}" height="{}"/>)",
                       hexadecimal(value_colour(i / (steps - 1.0))), coordinate(from), coordinate(top),
                       coordinate(width / steps + (i + 1 < steps ? 1 : 0)), coordinate(thick));
  }
  bottom = top + thick;
  if (!(shown.high > shown.low)) {
    bottom += 16;
    return out + fmt::format(R"(<text class="tick" x="{}" y="{}">{} everywhere</text>)", coordinate(left),
                             coordinate(bottom), escape(number(shown.low, 4)));
  }
  const axis ticks = make_axis(word, shown, 5);
  const scale along(shown, left, left + width);
  bottom += 16;
  double free_from = 0;
  for (std::size_t i = 0; i < ticks.ticks.size(); ++i) {
    const double half = text_width(ticks.tick_labels[i]) / 2;
    const double x = along(ticks.ticks[i]);
    // A label that would run into the one before it or far beyond the bar is left out.
    if (x - half < free_from || x + half > left + width + 9) continue;
    free_from = x + half + 6;
    out += fmt::format(R"(<text class="tick middle" x="{}" y="{}">{}</text>)", coordinate(x), coordinate(bottom),
                       escape(ticks.tick_labels[i]));
  }
  if (!ticks.label.empty()) {
    bottom += 17;
    out += fmt::format(R"(<text class="middle" x="{}" y="{}">{}</text>)", coordinate(left + width / 2),
                       coordinate(bottom), escape(shorten(ticks.label, 48)));
  }
  return out;
}

std::string blank_note(const lattice_cells& cells, std::string_view why) {
  const auto blank = static_cast<std::size_t>(std::count(cells.shade.begin(), cells.shade.end(), -1));
  if (blank == 0) return {};
  return fmt::format("{} {}.", blank == 1 ? "1 unit" : count(blank) + " units", why);
}

// The name of each label in its unit, where there is room to read it.
std::string draw_unit_names(const label_map& map, const lattice_cells& cells, double left, double top,
                            double distance) {
  constexpr double least_distance = 18;
  constexpr std::size_t longest = 3;
  const bool short_names = std::all_of(map.names.begin(), map.names.end(),
                                       [](const std::string& name) { return length(clean(name)) <= longest; });
  if (distance < least_distance || !short_names) return {};
  const double row_distance = cells.hexagonal ? distance * std::sqrt(3.0) / 2 : distance;
  const double first_centre = cells.hexagonal ? distance / std::sqrt(3.0) : distance / 2;
  std::string out;
  for (std::size_t u = 0; u < map.labels.size(); ++u) {
    if (map.labels[u] < 0) continue;
    const auto row = static_cast<double>(u / map.shape.width);
    const double shift = cells.hexagonal && (u / map.shape.width) % 2 == 1 ? 1.0 : 0.5;
    out += fmt::format(R"(<text class="mean middle" x="{}" y="{}">{}</text>)",
                       coordinate(left + (static_cast<double>(u % map.shape.width) + shift) * distance),
                       coordinate(top + first_centre + row * row_distance + 4.5),
                       escape(map.names[static_cast<std::size_t>(map.labels[u])]));
  }
  return out;
}

}  // namespace

picture draw(const value_map& map) {
  const range shown = value_range(map.values);
  const lattice_cells cells = value_cells(map.shape, map.values, shown, map.title);
  const double room = picture_width - 2 * picture_margin;
  const double distance = fitting_distance(cells, room, tallest_map);
  const double width = cells.across() * distance;
  picture drawing{map.title, map.description, blank_note(cells, "without a value left blank"), picture_width, 0, {}};
  const std::string beyond = beyond_note(map.values, shown);
  if (!beyond.empty()) drawing.note += (drawing.note.empty() ? "" : " ") + beyond;
  drawing.body = draw_cells(cells, (picture_width - width) / 2, 4, distance);
  double bottom = 4 + cells.down() * distance;
  if (shown.high >= shown.low) {
    drawing.body += draw_colour_bar(shown, map.value_word, picture_margin, bottom + 14, room, bottom);
  }
  drawing.height = bottom + 8;
  return drawing;
}

picture draw_planes(const map_shape& shape, const std::vector<component_plane>& planes, std::string title) {
  constexpr double whole_width = 780;
  constexpr double gap = 22;
  constexpr double heading = 20;
  const std::size_t shown_planes = std::min(planes.size(), most_planes);
  const std::size_t across = std::min<std::size_t>(shown_planes, 4);
  picture drawing{std::move(title), {}, {}, whole_width, 0, {}};
  if (shown_planes == 0) return drawing;
  const double room = std::min(240.0, (whole_width - gap * static_cast<double>(across - 1)) /
                                          static_cast<double>(std::max<std::size_t>(across, 3)));
  double top = 0;
  double bottom = 0;
  bool clipped = false;
  for (std::size_t p = 0; p < shown_planes; ++p) {
    if (p % across == 0) top = p == 0 ? 0 : bottom + 14;
    const component_plane& plane = planes[p];
    const range shown = value_range(plane.values);
    clipped = clipped || !beyond_note(plane.values, shown).empty();
    const lattice_cells cells = value_cells(shape, plane.values, shown, plane.name);
    const double left = static_cast<double>(p % across) * (room + gap);
    const double distance = fitting_distance(cells, room, room);
    drawing.body += fmt::format(R"(<text x="{}" y="{}">{}</text>)", coordinate(left), coordinate(top + 13),
                                escape(shorten(plane.name, 28)));
    drawing.body += draw_cells(cells, left, top + heading, distance);
    const double width = cells.across() * distance;
    double end = 0;
    drawing.body += draw_colour_bar(shown, {}, left, top + heading + cells.down() * distance + 8,
                                    std::max(width, std::min(room, 120.0)), end);
    bottom = std::max(bottom, end);
  }
  drawing.height = bottom + 8;
  drawing.description = fmt::format("The weights of the units in {} columns, one map for each.", shown_planes);
  if (clipped) drawing.note = "Values far beyond the others have the colour of the scale's end.";
  if (shown_planes < planes.size()) {
    drawing.note += drawing.note.empty() ? "" : " ";
    drawing.note += fmt::format("The first {} of {} columns are drawn.", shown_planes, count(planes.size()));
  }
  return drawing;
}

picture draw(const label_map& map) {
  lattice_cells cells = blank_cells(map.shape, map.labels.size(), map.title);
  if (map.purity.size() != map.labels.size()) {
    throw bad_argument(
        fmt::format("{} purities for {} units; give one for each", map.purity.size(), map.labels.size()));
  }
  std::vector<bool> seen(map.names.size(), false);
  for (std::int32_t colour = 0; colour < group_colours; ++colour) {
    for (std::int32_t step = 1; step <= purity_steps; ++step) {
      cells.shades.push_back(group_colour(colour, 0.15 + 0.85 * step / purity_steps));
    }
  }
  for (std::size_t u = 0; u < map.labels.size(); ++u) {
    const std::int32_t label = map.labels[u];
    if (label < 0) continue;
    if (static_cast<std::size_t>(label) >= map.names.size()) {
      throw bad_argument(fmt::format("unit {} has the label {} of {} names", u, label, map.names.size()));
    }
    seen[static_cast<std::size_t>(label)] = true;
    const double purity = std::clamp(map.purity[u], 0.0, 1.0);
    const std::int32_t step =
        std::min(purity_steps - 1, static_cast<std::int32_t>(purity * static_cast<double>(purity_steps)));
    cells.shade[u] = label % group_colours * purity_steps + step;
  }
  std::vector<legend_entry> legend;
  for (std::size_t label = 0; label < map.names.size() && legend.size() < most_label_names; ++label) {
    if (!seen[label]) continue;
    const rgb colour = group_colour(static_cast<std::int32_t>(label));
    legend.push_back({legend_mark::bar, 0, map.names[label], hexadecimal(colour)});
  }
  double top = 0;
  std::string body = draw_legend(legend, picture_margin, picture_width - picture_margin, top);
  top += 8;
  const double distance = fitting_distance(cells, picture_width - 2 * picture_margin, tallest_map);
  const double left = (picture_width - cells.across() * distance) / 2;
  body += draw_cells(cells, left, top, distance) + draw_unit_names(map, cells, left, top, distance);
  picture drawing{map.title,
                  map.description,
                  blank_note(cells, "without rows left blank"),
                  picture_width,
                  top + cells.down() * distance + 8,
                  std::move(body)};
  const auto shown = static_cast<std::size_t>(std::count(seen.begin(), seen.end(), true));
  if (shown > legend.size()) {
    drawing.note += fmt::format("{}The legend names {} of {} labels.", drawing.note.empty() ? "" : " ", legend.size(),
                                count(shown));
  }
  if (shown > static_cast<std::size_t>(group_colours)) {
    drawing.note += fmt::format("{}The ninth label has the first colour again.", drawing.note.empty() ? "" : " ");
  }
  return drawing;
}

}  // namespace shoal::report
