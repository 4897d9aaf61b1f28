#include "report/wave/moving_picture.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/axis.hpp"
#include "report/frame.hpp"
#include "report/text.hpp"
#include "report/wave/shades.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t most_frames = 60;
constexpr double frames_a_second = 12;
constexpr std::size_t most_places = 400;
constexpr std::size_t most_pixels = 120;  // a frame holds a whole image

std::string profile(const frame& axes, const wave_data& wave, const double* v) {
  std::string path;
  const std::size_t stride = std::max<std::size_t>(1, wave.grid.columns / most_places);
  for (std::size_t i = 0; i < wave.grid.columns; i += stride) {
    path += fmt::format("{}{} {}", path.empty() ? "M" : "L",
                        coordinate(axes.x(static_cast<double>(i) * wave.grid.spacing)), coordinate(axes.y(v[i])));
  }
  return fmt::format(R"(<path class="line {}" d="{}"/>)", stroke_class(0), path);
}

// Shows its content in one part of `frames` of the whole time, which begins anew when it ends.
std::string shown_in_turn(const std::string& content, std::size_t turn, std::size_t frames) {
  const double begin = static_cast<double>(turn) / static_cast<double>(frames),
               end = static_cast<double>(turn + 1) / static_cast<double>(frames);
  const std::string values = turn == 0            ? "visible;hidden"
                             : turn + 1 == frames ? "hidden;visible"
                                                  : "hidden;visible;hidden";
  const std::string times = turn == 0            ? fmt::format("0;{:.5f}", end)
                            : turn + 1 == frames ? fmt::format("0;{:.5f}", begin)
                                                 : fmt::format("0;{:.5f};{:.5f}", begin, end);
  return fmt::format(
      R"(<g visibility="{}"><animate attributeName="visibility" calcMode="discrete" values="{}" keyTimes="{}" )"
      R"(dur="{:.2f}s" repeatCount="indefinite"/>{}</g>)",
      turn + 1 == frames ? "visible" : "hidden", values, times, static_cast<double>(frames) / frames_a_second, content);
}

}  // namespace

std::vector<std::size_t> some_times(std::size_t count, std::size_t most) {
  std::vector<std::size_t> chosen;
  const std::size_t kept = std::min(count, most);
  for (std::size_t k = 0; k < kept; ++k) chosen.push_back(kept == 1 ? count - 1 : k * (count - 1) / (kept - 1));
  return chosen;
}

picture moving_picture(const wave_data& wave, range values) {
  const bool plane = wave.grid.rows > 1;
  const axis across = make_axis("x", {0, static_cast<double>(wave.grid.columns - 1) * wave.grid.spacing}, 6);
  const axis up = plane ? make_axis("y", {0, static_cast<double>(wave.grid.rows - 1) * wave.grid.spacing}, 6)
                        : make_axis("v", values, 6);
  picture drawing{"The wave as it moves",
                  plane ? "v in the plane as shades, frame by frame." : "v over x, frame by frame.",
                  {},
                  560,
                  400,
                  {}};
  const frame axes(drawing.width, drawing.height, across, up, {});
  std::string frames;
  const std::vector<std::size_t> turns = some_times(wave.times.size(), most_frames);
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    const double* v = wave.states.data() + turns[turn] * 2 * wave.grid.nodes();
    const std::string drawn =
        plane ? shades(
                    axes, wave.grid.columns, wave.grid.rows, values,
                    [&](std::size_t i, std::size_t j) { return v[i * wave.grid.columns + j]; }, most_pixels)
              : profile(axes, wave, v);
    const std::string time =
        fmt::format(R"(<text class="end" x="{}" y="{}">t = {}</text>)", coordinate(axes.right() - 8),
                    coordinate(axes.top() + 18), number(wave.times[turns[turn]]));
    frames += shown_in_turn(drawn + time, turn, turns.size());
  }
  drawing.body = axes.draw(frames);
  return drawing;
}

}  // namespace shoal::report
