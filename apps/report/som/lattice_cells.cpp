// Cells of a lattice as paths or as an image.
#include "report/som/lattice_cells.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/picture.hpp"
#include "report/png.hpp"

namespace shoal::report {
namespace {

// Hexagons have their corners at whole numbers when half a distance is the unit across and the half edge, √3/6 of a
// distance, the unit down: a row is then 3 high, a hexagon 2 wide and 4 high.
constexpr double hexagon_unit_across = 0.5;
constexpr double hexagon_unit_down = std::numbers::sqrt3 / 6;

void check(const lattice_cells& cells) {
  const auto shades = static_cast<std::int32_t>(cells.shades.size());
  const bool known = std::all_of(cells.shade.begin(), cells.shade.end(),
                                 [shades](std::int32_t shade) { return shade >= -1 && shade < shades; });
  if (cells.shade.size() != cells.width * cells.height || !known) {
    throw bad_argument(fmt::format("{} shades, each one of {}, are no map of {} × {} units", cells.shade.size(), shades,
                                   cells.width, cells.height));
  }
}

// Neighbouring cells of one row and shade, drawn as one outline.
std::string run_outline(bool hexagonal, std::size_t column, std::size_t row, std::size_t count) {
  if (!hexagonal) return fmt::format("M{} {}h{}v1h-{}z", column, row, count, count);
  std::string out = fmt::format("M{} {}", 2 * column + row % 2, 3 * row + 1);
  for (std::size_t i = 0; i < count; ++i) out += i == 0 ? "l1-1 1 1" : " 1-1 1 1";
  out += "v2";
  for (std::size_t i = 0; i < count; ++i) out += i == 0 ? "l-1 1-1-1" : "-1 1-1-1";
  return out + "z";
}

std::string draw_paths(const lattice_cells& cells, double left, double top, double distance) {
  std::vector<std::string> outlines(cells.shades.size());
  for (std::size_t row = 0; row < cells.height; ++row) {
    const std::span<const std::int32_t> shade(cells.shade.data() + row * cells.width, cells.width);
    for (std::size_t begin = 0, end = 0; begin < cells.width; begin = end) {
      while (end < cells.width && shade[end] == shade[begin]) ++end;
      if (shade[begin] < 0) continue;
      outlines[static_cast<std::size_t>(shade[begin])] += run_outline(cells.hexagonal, begin, row, end - begin);
    }
  }
  const double across = cells.hexagonal ? hexagon_unit_across * distance : distance;
  const double down = cells.hexagonal ? hexagon_unit_down * distance : distance;
  std::string out = fmt::format(R"a(<g transform="translate({} {}) scale({:.5g} {:.5g})">)a", coordinate(left),
                                coordinate(top), across, down);
  for (std::size_t i = 0; i < outlines.size(); ++i) {
    if (outlines[i].empty()) continue;
    // A thin line of its own colour closes the seams that smoothed edges would leave between neighbours.
    out +=
        fmt::format(R"(<path fill="{0}" stroke="{0}" stroke-width=".5" vector-effect="non-scaling-stroke" d="{1}"/>)",
                    hexadecimal(cells.shades[i]), outlines[i]);
  }
  return out + "</g>";
}

// The hexagon at a place in hexagon units, as an index of the cells, or −1.
std::ptrdiff_t hexagon_at(const lattice_cells& cells, double x, double y) {
  auto row = static_cast<std::ptrdiff_t>(std::floor(y / 3));
  const auto column_in = [&](std::ptrdiff_t r) {
    return static_cast<std::ptrdiff_t>(std::floor((x - static_cast<double>(r & 1)) / 2));
  };
  // The upper third of a row's band is shared with the row above, cut by the two upper edges.
  const double centre = static_cast<double>(2 * column_in(row) + (row & 1) + 1);
  if (y - 3 * static_cast<double>(row) < std::abs(x - centre)) --row;
  const std::ptrdiff_t column = column_in(row);
  const bool there = row >= 0 && row < static_cast<std::ptrdiff_t>(cells.height) && column >= 0 &&
                     column < static_cast<std::ptrdiff_t>(cells.width);
  return there ? row * static_cast<std::ptrdiff_t>(cells.width) + column : -1;
}

std::string draw_image(const lattice_cells& cells, double left, double top, double distance) {
  // Pixels for a hexagon unit: about two for a page unit, so that edges stay edges on a fine screen, and no more than
  // show them in an enlarged page.
  const auto pixels_for = [&](double unit, std::size_t most) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(2 * unit * distance)), 1, most);
  };
  const std::size_t pixels_across = pixels_for(hexagon_unit_across, 3);
  const std::size_t pixels_down = pixels_for(hexagon_unit_down, 2);
  std::size_t width = cells.width;
  std::size_t height = cells.height;
  if (cells.hexagonal) {
    width = pixels_across * (2 * cells.width + (cells.height > 1 ? 1 : 0));
    height = pixels_down * (3 * cells.height + 1);
  }
  std::vector<std::uint8_t> pixels(width * height, 0);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    auto at = static_cast<std::ptrdiff_t>(i);
    if (cells.hexagonal) {
      at = hexagon_at(cells, (static_cast<double>(i % width) + 0.5) / static_cast<double>(pixels_across),
                      (static_cast<double>(i / width) + 0.5) / static_cast<double>(pixels_down));
    }
    if (at >= 0) pixels[i] = static_cast<std::uint8_t>(cells.shade[static_cast<std::size_t>(at)] + 1);
  }
  return fmt::format(
      R"(<image x="{}" y="{}" width="{}" height="{}" preserveAspectRatio="none" style="image-rendering:pixelated" )"
      R"(href="data:image/png;base64,{}"/>)",
      coordinate(left), coordinate(top), coordinate(cells.across() * distance), coordinate(cells.down() * distance),
      base64(indexed_png(pixels, width, height, cells.shades)));
}

}  // namespace

double lattice_cells::across() const {
  return static_cast<double>(width) + (hexagonal && height > 1 ? hexagon_unit_across : 0);
}

double lattice_cells::down() const {
  const auto rows = static_cast<double>(height);
  return hexagonal ? hexagon_unit_down * (3 * rows + 1) : rows;
}

std::string draw_cells(const lattice_cells& cells, double left, double top, double distance) {
  check(cells);
  return cells.shade.size() <= most_shapes ? draw_paths(cells, left, top, distance)
                                           : draw_image(cells, left, top, distance);
}

}  // namespace shoal::report
