#include "report/wave/wave_report.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include <shoal/reaction_diffusion/wave_speed.hpp>

#include "report/axis.hpp"
#include "report/chart.hpp"
#include "report/frame.hpp"
#include "report/text.hpp"
#include "report/wave/moving_picture.hpp"
#include "report/wave/shades.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t time_rows = 400;  // of the picture of space and time
constexpr std::size_t most_curves = 6;

picture image(const std::string& title, const std::string& description, const axis& across, const axis& up,
              std::size_t width, std::size_t height, range shown,
              const std::function<double(std::size_t, std::size_t)>& at) {
  picture drawing{title, description, fmt::format("pale is {:.3g}, dark is {:.3g}", shown.low, shown.high),
                  560,   400,         {}};
  const frame axes(drawing.width, drawing.height, across, up, {});
  drawing.body = axes.draw(shades(axes, width, height, shown, at));
  return drawing;
}

const double* v_at(const wave_data& wave, std::size_t time) {
  return wave.states.data() + time * 2 * wave.grid.nodes();
}

range range_of_v(const wave_data& wave) {
  std::vector<double> all;
  for (std::size_t t = 0; t < wave.times.size(); ++t) {
    all.insert(all.end(), v_at(wave, t), v_at(wave, t) + wave.grid.nodes());
  }
  return range_of(all);
}

void add_plane(page& out, const wave_data& wave) {
  const range shown = range_of_v(wave);
  const axis across = make_axis("x", {0, static_cast<double>(wave.grid.columns - 1) * wave.grid.spacing}, 6);
  const axis up = make_axis("y", {0, static_cast<double>(wave.grid.rows - 1) * wave.grid.spacing}, 6);
  for (const std::size_t t : some_times(wave.times.size(), most_curves)) {
    const double* v = v_at(wave, t);
    out.figure(image(fmt::format("v at time {}", number(wave.times[t])), "v in the plane as shades.", across, up,
                     wave.grid.columns, wave.grid.rows, shown,
                     [&](std::size_t i, std::size_t j) { return v[i * wave.grid.columns + j]; }));
  }
}

void add_axon(page& out, const wave_data& wave) {
  const std::size_t nodes = wave.grid.columns;
  const range places{0, static_cast<double>(nodes - 1) * wave.grid.spacing};
  if (wave.times.back() > wave.times.front()) {
    const range span{wave.times.front(), wave.times.back()};
    out.figure(image("v over space and time", "v as shades, space across and time upwards.", make_axis("x", places, 6),
                     make_axis("time", span, 6), nodes, time_rows, range_of_v(wave),
                     [&](std::size_t row, std::size_t j) {
                       const double time = span.low + (span.high - span.low) * static_cast<double>(row) / time_rows;
                       const auto after = std::upper_bound(wave.times.begin(), wave.times.end(), time);
                       return v_at(wave, static_cast<std::size_t>(after - wave.times.begin()) - 1)[j];
                     }));
  }
  line_chart profiles{"Profiles", "v over x at some of the times.", "x", "v", {}, false, {}};
  line_chart plane{"Phase plane", "w over v at the nodes, at some of the times.", "v", "w", {}, false, {}};
  const std::size_t stride = std::max<std::size_t>(1, nodes / 800);
  for (const std::size_t t : some_times(wave.times.size(), most_curves)) {
    const std::string name = fmt::format("t = {}", number(wave.times[t]));
    const int colour = static_cast<int>(profiles.series.size());
    line_series profile{name, {}, {}, colour}, orbit{name, {}, {}, colour};
    for (std::size_t i = 0; i < nodes; i += stride) {
      profile.x.push_back(static_cast<double>(i) * wave.grid.spacing);
      profile.y.push_back(v_at(wave, t)[i]);
      orbit.x.push_back(v_at(wave, t)[i]);
      orbit.y.push_back(v_at(wave, t)[nodes + i]);
    }
    profiles.series.push_back(std::move(profile));
    plane.series.push_back(std::move(orbit));
  }
  out.figure(draw(profiles));
  out.figure(draw(plane));
}

// The nodes of an adaptive run, a row of dots for each of some times.
picture nodes_picture(const wave_data& wave) {
  picture drawing{"Nodes in use", "The nodes that the adaptive scheme used, at some of the times.", {}, 560, 400, {}};
  const frame axes(drawing.width, drawing.height,
                   make_axis("x", {0, static_cast<double>(wave.grid.columns - 1) * wave.grid.spacing}, 6),
                   make_axis("time", range_of(wave.times, 0.05), 6), {});
  std::string dots;
  for (const std::size_t t : some_times(wave.times.size(), 12)) {
    std::string places;
    for (const std::size_t place : wave.nodes_in_use[t]) {
      places += fmt::format("M{} {}h0", coordinate(axes.x(static_cast<double>(place) * wave.grid.spacing)),
                            coordinate(axes.y(wave.times[t])));
    }
    if (!places.empty())
      dots += fmt::format(R"(<path class="dot {}" stroke-width="3" d="{}"/>)", stroke_class(2), places);
  }
  drawing.body = axes.draw(dots);
  return drawing;
}

// Where v crosses ½, and how fast each place has moved since the time before, where there are as many.
table crossings_table(const wave_data& wave) {
  table numbers{
      "Where v crosses 1/2, and the speed of each place since the time before", {"time", "x", "speed"}, {}, {}};
  const auto listed = [](const std::vector<double>& values) {
    std::string text;
    for (const double value : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", number(value));
    return text;
  };
  std::vector<double> before;
  double before_time = 0;
  for (const std::size_t t : some_times(wave.times.size(), 12)) {
    const std::vector<double> places = reaction_diffusion::crossings(v_at(wave, t), wave.grid);
    std::vector<double> speeds;
    if (places.size() == before.size() && wave.times[t] > before_time) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        speeds.push_back((places[i] - before[i]) / (wave.times[t] - before_time));
      }
    }
    numbers.rows.push_back({{number(wave.times[t])}, {places.empty() ? "nowhere" : listed(places)}, {listed(speeds)}});
    before = places;
    before_time = wave.times[t];
  }
  return numbers;
}

}  // namespace

page wave_page(const wave_data& wave) {
  page out(wave.title, "FitzHugh–Nagumo wave");
  out.facts(wave.facts);
  if (wave.times.size() > 1) out.figure(moving_picture(wave, range_of_v(wave)));
  if (wave.grid.rows > 1) {
    add_plane(out, wave);
  } else {
    add_axon(out, wave);
    if (!wave.nodes_in_use.empty()) out.figure(nodes_picture(wave));
    out.add(crossings_table(wave));
  }
  return out;
}

}  // namespace shoal::report
