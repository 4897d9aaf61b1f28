#include "report/wave/wave_report.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <shoal/reaction_diffusion/wave_speed.hpp>

#include "report/axis.hpp"
#include "report/chart.hpp"
#include "report/colour_scale.hpp"
#include "report/frame.hpp"
#include "report/png.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t shades = 64;
constexpr std::size_t most_pixels = 400;  // across and down
constexpr std::size_t most_curves = 6;

// An image of `height` × `width` values, at most most_pixels of them each way, drawn in a frame with its axes.
template <class At>
picture image(const std::string& title, const std::string& description, const axis& across, const axis& up,
              std::size_t width, std::size_t height, range shown, const At& at) {
  const std::size_t pixels_across = std::min(width, most_pixels), pixels_down = std::min(height, most_pixels);
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < pixels_down; ++i) {
    for (std::size_t j = 0; j < pixels_across; ++j) {
      // The first row of a picture is its top, where the vertical axis ends.
      const double value = at((pixels_down - 1 - i) * height / pixels_down, j * width / pixels_across);
      const double share = std::clamp((value - shown.low) / (shown.high - shown.low), 0.0, 1.0);
      pixels.push_back(static_cast<std::uint8_t>(1 + share * (shades - 1)));
    }
  }
  std::vector<rgb> palette;
  for (std::size_t i = 0; i < shades; ++i) palette.push_back(value_colour(static_cast<double>(i) / (shades - 1)));
  picture drawing{title, description, fmt::format("pale is {:.3g}, dark is {:.3g}", shown.low, shown.high),
                  560,   400,         {}};
  const frame axes(drawing.width, drawing.height, across, up, {});
  drawing.body = axes.draw(fmt::format(
      R"(<image x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none" style="image-rendering:pixelated" )"
      R"(href="data:image/png;base64,{}"/>)",
      coordinate(axes.left()), coordinate(axes.top()), coordinate(axes.right() - axes.left()),
      coordinate(axes.bottom() - axes.top()), base64(indexed_png(pixels, pixels_across, pixels_down, palette))));
  return drawing;
}

// Numbers of at most `most` of the times, the last among them.
std::vector<std::size_t> some_times(std::size_t times, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t count = std::min(times, most);
  for (std::size_t k = 0; k < count; ++k) chosen.push_back(count == 1 ? times - 1 : k * (times - 1) / (count - 1));
  return chosen;
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
                     make_axis("time", span, 6), nodes, most_pixels, range_of_v(wave),
                     [&](std::size_t row, std::size_t j) {
                       const double time = span.low + (span.high - span.low) * static_cast<double>(row) / most_pixels;
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

table crossings_table(const wave_data& wave) {
  table numbers{"Where v crosses 1/2", {"time", "x"}, {}, {}};
  for (const std::size_t t : some_times(wave.times.size(), 12)) {
    std::string places;
    for (const double place : reaction_diffusion::crossings(v_at(wave, t), wave.grid)) {
      places += fmt::format("{}{}", places.empty() ? "" : ", ", number(place));
    }
    numbers.rows.push_back({{number(wave.times[t])}, {places.empty() ? "nowhere" : places}});
  }
  return numbers;
}

}  // namespace

page wave_page(const wave_data& wave) {
  page out(wave.title, "FitzHugh–Nagumo wave");
  out.facts(wave.facts);
  if (wave.grid.rows > 1) {
    add_plane(out, wave);
  } else {
    add_axon(out, wave);
    out.add(crossings_table(wave));
  }
  return out;
}

}  // namespace shoal::report
