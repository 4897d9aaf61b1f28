// Pictures of maps: what is drawn where, in how many elements, and what is refused.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zlib.h>

#include <shoal/core/error.hpp>

#include "../well_formed.hpp"
#include "report/png.hpp"
#include "report/som/lattice_cells.hpp"
#include "report/som/map_chart.hpp"
#include "report/text.hpp"

namespace shoal::report {
namespace {

using tests::occurrences;
using tests::well_formed;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void expect_sound(const picture& drawing) {
  EXPECT_EQ(well_formed(inline_svg(drawing)), "");
  EXPECT_GT(drawing.width, 0);
  EXPECT_GT(drawing.height, 0);
  // The letters of an image in base64 may spell anything.
  std::string shapes = drawing.body;
  if (const std::size_t image = shapes.find("base64,"); image != std::string::npos) {
    shapes.erase(image, shapes.find('"', image) - image);
  }
  for (const std::string_view wrong : {"nan", "inf"}) EXPECT_EQ(shapes.find(wrong), std::string::npos);
}

lattice_cells two_by_two(bool hexagonal) { return {2, 2, hexagonal, {0, 0, 1, -1}, {{255, 0, 0}, {0, 0, 255}}}; }

TEST(lattice_cells, squares_of_one_shade_are_one_outline) {
  const std::string drawn = draw_cells(two_by_two(false), 10, 20, 30);
  EXPECT_EQ(well_formed(drawn), "");
  EXPECT_NE(drawn.find("translate(10 20) scale(30 30)"), std::string::npos);
  EXPECT_NE(drawn.find("fill=\"#ff0000\""), std::string::npos);
  EXPECT_NE(drawn.find("d=\"M0 0h2v1h-2z\""), std::string::npos) << "both cells of the first row";
  EXPECT_NE(drawn.find("d=\"M0 1h1v1h-1z\""), std::string::npos);
  EXPECT_EQ(occurrences(drawn, "<path"), 2u);
}

// Corners at whole numbers: hexagons of odd rows are one unit, half a cell, to the right.
TEST(lattice_cells, hexagons_stand_on_a_corner_and_odd_rows_are_shifted) {
  const std::string drawn = draw_cells(two_by_two(true), 0, 0, 2);
  EXPECT_EQ(well_formed(drawn), "");
  EXPECT_NE(drawn.find("scale(1 0.57735)"), std::string::npos);
  EXPECT_NE(drawn.find("d=\"M0 1l1-1 1 1 1-1 1 1v2l-1 1-1-1-1 1-1-1z\""), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("d=\"M1 4l1-1 1 1v2l-1 1-1-1z\""), std::string::npos) << drawn;
  EXPECT_DOUBLE_EQ(two_by_two(true).across(), 2.5);
  EXPECT_NEAR(two_by_two(true).down(), std::sqrt(3.0) / 2 + 2 / std::sqrt(3.0), 1e-12);
}

TEST(lattice_cells, refuses_what_does_not_fit) {
  lattice_cells cells = two_by_two(false);
  cells.shade[0] = 2;
  EXPECT_THROW(draw_cells(cells, 0, 0, 1), bad_argument);
  cells = two_by_two(false);
  cells.width = 3;
  EXPECT_THROW(draw_cells(cells, 0, 0, 1), bad_argument);
}

// What an image holds, read back from its text.
struct decoded_png {
  std::size_t width = 0;
  std::size_t height = 0;
  std::vector<std::uint8_t> pixels;

  explicit decoded_png(const std::string& drawn) {
    const std::string mark = "href=\"data:image/png;base64,";
    const std::size_t begin = drawn.find(mark) + mark.size();
    const std::string file = from_base64(drawn.substr(begin, drawn.find('"', begin) - begin));
    EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1a\n");
    for (std::size_t at = 8; at < file.size();) {
      const std::size_t size = number_at(file, at);
      const std::string name = file.substr(at + 4, 4);
      const std::string contents = file.substr(at + 8, size);
      const std::string body = name + contents;
      EXPECT_EQ(number_at(file, at + 8 + size), crc32(0, reinterpret_cast<const Bytef*>(body.data()), body.size()));
      if (name == "IHDR") {
        width = number_at(contents, 0);
        height = number_at(contents, 4);
      } else if (name == "IDAT") {
        read_lines(contents);
      }
      at += 12 + size;
    }
  }

 private:
  static std::size_t number_at(const std::string& bytes, std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes.at(at + i));
    return value;
  }

  static std::string from_base64(const std::string& text) {
    std::string out;
    unsigned group = 0;
    int bits = 0;
    for (const char c : text) {
      if (c == '=') break;
      const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
      group = group << 6 | static_cast<unsigned>(digits.find(c));
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      out += static_cast<char>(group >> bits & 255u);
    }
    return out;
  }

  void read_lines(const std::string& deflated) {
    std::vector<std::uint8_t> lines(height * (width + 1));
    uLongf size = lines.size();
    ASSERT_EQ(uncompress(lines.data(), &size, reinterpret_cast<const Bytef*>(deflated.data()), deflated.size()), Z_OK);
    ASSERT_EQ(size, lines.size());
    for (std::size_t y = 0; y < height; ++y) {
      EXPECT_EQ(lines[y * (width + 1)], 0) << "no filter";
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(y * (width + 1) + 1);
      pixels.insert(pixels.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
  }
};

lattice_cells large(bool hexagonal) {
  lattice_cells cells{100, 80, hexagonal, {}, {}};
  for (int i = 0; i < 5; ++i) cells.shades.push_back(value_colour(i / 4.0));
  for (std::size_t u = 0; u < 8000; ++u) cells.shade.push_back(static_cast<std::int32_t>(u * u % 6) - 1);
  return cells;
}

TEST(lattice_cells, many_squares_are_the_pixels_of_one_image) {
  const lattice_cells cells = large(false);
  const std::string drawn = draw_cells(cells, 0, 0, 4);
  EXPECT_EQ(well_formed(drawn), "");
  EXPECT_EQ(occurrences(drawn, "<"), 1u);
  const decoded_png image(drawn);
  ASSERT_EQ(image.width, 100u);
  ASSERT_EQ(image.height, 80u);
  for (std::size_t u = 0; u < 8000; ++u) ASSERT_EQ(image.pixels[u], cells.shade[u] + 1) << u;
}

TEST(lattice_cells, many_hexagons_are_hexagons_in_one_image) {
  const lattice_cells cells = large(true);
  const decoded_png image(draw_cells(cells, 0, 0, 4));
  // Each pixel belongs to the nearest centre: that is what hexagons of a regular lattice are.
  std::size_t outside = 0;
  for (std::size_t y = 0; y < image.height; ++y) {
    for (std::size_t x = 0; x < image.width; ++x) {
      const double px = (static_cast<double>(x) + 0.5) / static_cast<double>(image.width) * cells.across();
      const double py = (static_cast<double>(y) + 0.5) / static_cast<double>(image.height) * cells.down();
      double least = 1e9;
      double second = 1e9;
      std::size_t nearest = 0;
      const auto row = static_cast<std::ptrdiff_t>(py / 0.8660254);
      for (std::ptrdiff_t r = std::max<std::ptrdiff_t>(0, row - 2); r < std::min<std::ptrdiff_t>(80, row + 2); ++r) {
        for (std::ptrdiff_t c = 0; c < 100; ++c) {
          const double cx = static_cast<double>(c) + (r % 2 == 1 ? 1.0 : 0.5);
          const double cy = static_cast<double>(r) * std::sqrt(3.0) / 2 + 1 / std::sqrt(3.0);
          const double distance = std::hypot(px - cx, py - cy);
          if (distance < least) {
            second = least;
            least = distance;
            nearest = static_cast<std::size_t>(r * 100 + c);
          } else {
            second = std::min(second, distance);
          }
        }
      }
      const std::uint8_t pixel = image.pixels[y * image.width + x];
      const bool inside_all = least < 0.5 && second - least > 1e-9;
      if (inside_all) {
        ASSERT_EQ(pixel, cells.shade[nearest] + 1) << x << " " << y;
      }
      if (least > 0.6) {
        ASSERT_EQ(pixel, 0) << "beyond every corner, at 0.577: " << x << " " << y;
        ++outside;
      }
    }
  }
  EXPECT_GT(outside, 0u) << "the ends of shifted rows";
}

TEST(png, base64_of_the_standard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(png, refuses_what_does_not_fit) {
  const std::vector<std::uint8_t> pixels(6, 0);
  EXPECT_THROW(indexed_png(pixels, 2, 2, {}), bad_argument);
  EXPECT_THROW(indexed_png(pixels, 3, 2, std::vector<rgb>(256)), bad_argument);
}

TEST(value_colour, grows_darker_all_the_way) {
  double before = 1e9;
  for (int i = 0; i <= 100; ++i) {
    const rgb colour = value_colour(i / 100.0);
    const double lightness = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
    EXPECT_LT(lightness, before);
    before = lightness;
  }
}

TEST(value_map, has_its_extremes_at_both_ends_of_the_colours) {
  value_map map{"U-matrix", "nine units", "distance", {3, 3, false}, {1, 2, 3, 4, 5, 6, 7, 8, nan}};
  const picture drawing = draw(map);
  expect_sound(drawing);
  EXPECT_NE(drawing.body.find(hexadecimal(value_colour(0))), std::string::npos);
  EXPECT_NE(drawing.body.find(hexadecimal(value_colour(1))), std::string::npos);
  EXPECT_NE(drawing.body.find(">distance</text>"), std::string::npos);
  EXPECT_EQ(drawing.note, "1 unit without a value left blank.");
  map.values = {2, 2, 2, 2, 2, 2, 2, 2, 2};
  EXPECT_NE(draw(map).body.find(">2 everywhere</text>"), std::string::npos);
  map.values.assign(9, nan);
  expect_sound(draw(map));
  map.values.pop_back();
  EXPECT_THROW(draw(map), bad_argument);
}

TEST(value_map, a_few_values_far_out_do_not_pale_the_others) {
  value_map map{"hits", "", "rows", {20, 10, false}, {}};
  for (int u = 0; u < 200; ++u) map.values.push_back(u == 77 ? 1e6 : u % 10);
  const picture drawing = draw(map);
  expect_sound(drawing);
  EXPECT_EQ(drawing.note, "1 unit beyond the scale is in the colour of the scale's end.");
  std::size_t shades = 0;
  for (int i = 0; i < 64; ++i) {
    if (drawing.body.find("fill=\"" + hexadecimal(value_colour(i / 63.0)) + "\" stroke=") != std::string::npos)
      ++shades;
  }
  EXPECT_GE(shades, 10u) << "each of ten values";
  std::vector<component_plane> planes = {{"a", map.values}};
  EXPECT_EQ(draw_planes(map.shape, planes, "one").note,
            "Values far beyond the others have the colour of the scale's end.");
}

TEST(value_map, stays_light_when_it_is_large) {
  for (const bool hexagonal : {false, true}) {
    value_map map{"U-matrix", "", "distance", {200, 200, hexagonal}, {}};
    for (int u = 0; u < 40000; ++u) map.values.push_back(std::sin(u % 200 * 0.1) * std::cos(u / 200 * 0.07) + u * 1e-6);
    const picture drawing = draw(map);
    expect_sound(drawing);
    EXPECT_LT(occurrences(drawing.body, "<"), 100u);
    EXPECT_LT(drawing.body.size(), 150000u) << hexagonal;
  }
}

TEST(planes, are_drawn_up_to_twelve) {
  std::vector<component_plane> planes;
  for (int p = 0; p < 14; ++p) planes.push_back({"<column " + std::to_string(p) + ">", {1, 2, p + 0.5, 4, 5, 6}});
  const picture drawing = draw_planes({3, 2, true}, planes, "planes");
  expect_sound(drawing);
  EXPECT_EQ(drawing.note, "The first 12 of 14 columns are drawn.");
  EXPECT_NE(drawing.body.find("&lt;column 11&gt;"), std::string::npos);
  EXPECT_EQ(drawing.body.find("column 12"), std::string::npos);
  planes.resize(1);
  EXPECT_EQ(draw_planes({3, 2, true}, planes, "one").note, "");
  expect_sound(draw_planes({3, 2, true}, planes, "one"));
}

TEST(label_map, names_what_is_there_and_pales_with_impurity) {
  label_map map{"labels", "", {2, 2, true}, {0, 2, -1, 2}, {1, 0.5, 0, 1}, {"a", "b", "<c>"}};
  const picture drawing = draw(map);
  expect_sound(drawing);
  EXPECT_NE(drawing.body.find(hexadecimal(group_colour(0))), std::string::npos);
  EXPECT_NE(drawing.body.find(hexadecimal(group_colour(2))), std::string::npos);
  EXPECT_EQ(drawing.body.find(hexadecimal(group_colour(1))), std::string::npos) << "no unit has b";
  // In the legend once, and in its unit.
  EXPECT_EQ(occurrences(drawing.body, ">a</text>"), 2u);
  EXPECT_EQ(occurrences(drawing.body, ">&lt;c&gt;</text>"), 3u);
  EXPECT_EQ(drawing.note, "1 unit without rows left blank.");
  map.labels[0] = 3;
  EXPECT_THROW(draw(map), bad_argument);
  map.labels = {0, 0};
  EXPECT_THROW(draw(map), bad_argument);
}

}  // namespace
}  // namespace shoal::report
