#include "viewer/wave_scene.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/axis.hpp"
#include "report/text.hpp"
#include "viewer/box.hpp"
#include "viewer/still.hpp"

namespace shoal::viewer {
namespace {

// Heights that are low beside the ground read best.
constexpr double height = 0.45;

void check(const wave_request& wave) {
  if (wave.values.size() != wave.times * wave.rows * wave.columns || wave.values.empty()) {
    throw bad_argument(fmt::format("{} values for {} times of {} x {} nodes", wave.values.size(), wave.times, wave.rows,
                                   wave.columns));
  }
  if (!wave.times_at.empty() && wave.times_at.size() != wave.times) {
    throw bad_argument(fmt::format("{} times were given for {} states", wave.times_at.size(), wave.times));
  }
  if (!std::is_sorted(wave.times_at.begin(), wave.times_at.end(), std::less_equal<>())) {
    throw bad_argument("the times of the states must ascend");
  }
  if (wave.columns < 2 || (wave.rows == 1 && wave.times < 2)) {
    throw bad_argument("a surface needs two nodes and, over a line, two times at least");
  }
  const auto wrong = std::find_if(wave.values.begin(), wave.values.end(), [](double v) { return !std::isfinite(v); });
  if (wrong != wave.values.end()) {
    throw bad_argument(fmt::format("value {} of the states is not finite", wrong - wave.values.begin()));
  }
}

std::uint16_t share_of(double value, const report::range& shown) {
  return static_cast<std::uint16_t>(std::lround(65535 * (value - shown.low) / (shown.high - shown.low)));
}

}  // namespace

scene wave_scene(const wave_request& wave, const view_settings& view) {
  check(wave);
  std::vector<double> times = wave.times_at;
  if (times.empty()) {
    times.resize(wave.times);
    std::iota(times.begin(), times.end(), 0.0);
  }
  const bool line = wave.rows == 1;
  const report::range values = report::range_of(wave.values);
  const report::range places{0, static_cast<double>(wave.columns - 1) * wave.spacing};
  const report::range other = line ? report::range{times.front(), times.back()}
                                   : report::range{0, static_cast<double>(wave.rows - 1) * wave.spacing};
  scene made;
  made.title = wave.title;
  made.subtitle = wave.subtitle;
  made.axes = box({"x", line ? "time" : "y", wave.value_word}, {places, other, values}, false).axes();
  if (!line) {
    // Both ways along the ground have one scale.
    const double longest = std::max(places.high, other.high);
    for (const auto& [axis, length] : {std::pair(0, places.high), std::pair(1, other.high)}) {
      made.axes[axis].half *= length / longest;
      for (scene_axis::tick& tick : made.axes[axis].ticks) tick.at *= length / longest;
    }
  }
  made.axes[2].half *= height;
  for (scene_axis::tick& tick : made.axes[2].ticks) tick.at *= height;
  made.value_word = wave.value_word;
  made.values = {report::number(values.low, 3), report::number(values.high, 3)};
  scene_field field;
  // A line is one height field over places and times, whose rows lie at the times.
  field.rows = line ? wave.times : wave.rows;
  field.columns = wave.columns;
  for (const double value : wave.values) field.heights.push_back(share_of(value, values));
  if (line) {
    for (const double time : times)
      field.row_places.push_back(static_cast<float>(2 * (time - times.front()) / (times.back() - times.front()) - 1));
    field.times = {""};
  } else {
    for (const double time : times) field.times.push_back(report::number(time, 6));
  }
  made.still = still_of(field, made.axes, view,
                        line ? fmt::format("{} over space and time", wave.value_word)
                             : fmt::format("{} at time {}", wave.value_word, field.times.back()));
  made.field = std::move(field);
  return made;
}

}  // namespace shoal::viewer
