#include "report/wave/shades.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "report/colour_scale.hpp"
#include "report/picture.hpp"
#include "report/png.hpp"

namespace shoal::report {
namespace {

constexpr std::size_t shade_count = 64;

}  // namespace

std::string shades(const frame& axes, std::size_t width, std::size_t height, range shown,
                   const std::function<double(std::size_t, std::size_t)>& at, std::size_t most_pixels) {
  const std::size_t across = std::min(width, most_pixels), down = std::min(height, most_pixels);
  std::vector<std::uint8_t> pixels;
  for (std::size_t i = 0; i < down; ++i) {
    for (std::size_t j = 0; j < across; ++j) {
      // The first row of a picture is its top, where the vertical axis ends.
      const double value = at((down - 1 - i) * height / down, j * width / across);
      const double share = std::clamp((value - shown.low) / (shown.high - shown.low), 0.0, 1.0);
      pixels.push_back(static_cast<std::uint8_t>(1 + share * (shade_count - 1)));
    }
  }
  std::vector<rgb> palette;
  for (std::size_t i = 0; i < shade_count; ++i) {
    palette.push_back(value_colour(static_cast<double>(i) / (shade_count - 1)));
  }
  return fmt::format(
      R"(<image x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none" style="image-rendering:pixelated" )"
      R"(href="data:image/png;base64,{}"/>)",
      coordinate(axes.left()), coordinate(axes.top()), coordinate(axes.right() - axes.left()),
      coordinate(axes.bottom() - axes.top()), base64(indexed_png(pixels, across, down, palette)));
}

}  // namespace shoal::report
