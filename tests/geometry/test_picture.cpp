// Pictures: what they must show by the geometry alone, and the same bytes for any threads.
#include <array>
#include <cmath>
#include <cstddef>
#include <stop_token>
#include <string>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/geometry/geometry.hpp>

using namespace shoal::geometry;

namespace {

picture_options small() {
  picture_options options;
  options.width = 160;
  options.height = 120;
  return options;
}

std::array<int, 3> pixel(const picture& of, std::size_t across, std::size_t down) {
  const std::uint8_t* at = &of.pixels[3 * (down * of.width + across)];
  return {at[0], at[1], at[2]};
}

std::size_t shown_pixels(const picture& of, const std::array<int, 3>& background) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < of.width * of.height; ++i) shown += pixel(of, i % of.width, i / of.width) != background;
  return shown;
}

// A side seen straight on, a pixel a cell.
picture side_of(unsigned order, double azimuth, double elevation) {
  picture_options options;
  options.order = order;
  options.width = options.height = static_cast<std::size_t>(cells_along_edge(order));
  options.projection = projection::orthographic;
  options.extent = 1;
  options.azimuth = azimuth;
  options.elevation = elevation;
  options.samples = 1;
  options.sky_rays = 0;
  options.ambient = 1;
  options.lights.clear();
  return draw_sponge(options);
}

}  // namespace

// Holes go straight through: a side is Sierpinski's carpet of 8ⁿ squares, in the colour of its direction.
TEST(Picture, SidesAreCarpetsInTheirColours) {
  struct side {
    double azimuth, elevation;
    direction looks;
  };
  for (const auto& [azimuth, elevation, looks] :
       {side{0, 0, direction::east}, side{90, 0, direction::north}, side{180, 0, direction::west},
        side{270, 0, direction::south}, side{0, 90, direction::up}, side{0, -90, direction::down}}) {
    for (unsigned order = 0; order <= 4; ++order) {
      const picture drawn = side_of(order, azimuth, elevation);
      EXPECT_EQ(shown_pixels(drawn, {255, 255, 255}), std::pow(8, order)) << "order " << order;
      const auto& colour = face_colours[static_cast<std::size_t>(looks)];
      EXPECT_EQ(pixel(drawn, 0, 0), (std::array<int, 3>{colour[0], colour[1], colour[2]}));
    }
  }
}

TEST(Picture, HasTheSameBytesForAnyThreads) {
  picture_options options = small();
  options.order = 6;
  options.threads = 1;
  const picture one = draw_sponge(options);
  for (const std::size_t threads : {2, 7}) {
    options.threads = threads;
    EXPECT_EQ(draw_sponge(options).pixels, one.pixels) << threads;
  }
  EXPECT_GT(shown_pixels(one, {255, 255, 255}), one.width * one.height / 4);
}

// Sky rays that nothing hides are no darkness: the cube itself has no place that sees less than all of its sky.
TEST(Picture, TheCubeCastsNoShadowOnItself) {
  picture_options options = small();
  options.order = 0;
  options.samples = 1;
  const picture dark = draw_sponge(options);
  options.sky_rays = 0;
  EXPECT_EQ(draw_sponge(options).pixels, dark.pixels);
  options.order = 2;
  const picture open = draw_sponge(options);
  options.sky_rays = 16;
  EXPECT_NE(draw_sponge(options).pixels, open.pixels);
}

// The plane through the middle, across the diagonal, leaves a hexagon whose middle is a hole with six corners.
TEST(Picture, TheHexagonalCutIsAStar) {
  picture_options options;
  options.order = 1;
  options.width = options.height = 200;
  options.projection = projection::orthographic;
  options.azimuth = 45;
  options.elevation = std::atan(std::sqrt(0.5)) * 180 / 3.14159265358979323846;
  options.samples = 1;
  options.sky_rays = 0;
  options.ambient = 1;
  options.lights.clear();
  options.section = section_plane{};
  const picture drawn = draw_sponge(options);
  const std::array<int, 3> cut = {255, 214, 150};
  EXPECT_NE(pixel(drawn, 100, 100), cut);
  std::size_t cut_pixels = 0;
  for (std::size_t i = 0; i < 200 * 200; ++i) cut_pixels += pixel(drawn, i % 200, i / 200) == cut;
  // The hexagon has an area of 3√3/4. It falls into 54 triangles of edge √2/6, of which the star takes twelve.
  const double pixel_area = options.extent * options.extent / (200 * 200);
  EXPECT_NEAR(static_cast<double>(cut_pixels) * pixel_area, 0.75 * std::sqrt(3.0) * 42 / 54, 0.01);
}

TEST(Picture, StagesStandSideBySide) {
  picture_options options = small();
  options.order = 2;
  options.width = 90;
  options.height = 30;
  const picture strip = draw_stages(options, draw_sponge);
  options.width = 30;
  options.order = 1;
  const picture middle = draw_sponge(options);
  for (std::size_t v = 0; v < 30; ++v) {
    for (std::size_t u = 0; u < 30; ++u) ASSERT_EQ(pixel(strip, 30 + u, v), pixel(middle, u, v));
  }
}

TEST(Picture, PointsAreTheCorners) {
  picture_options options = small();
  options.order = 0;
  options.projection = projection::orthographic;
  options.width = options.height = 200;
  const picture drawn = draw_points(options);
  const std::size_t shown = shown_pixels(drawn, {255, 255, 255});
  EXPECT_GE(shown, 8u);
  EXPECT_EQ(shown % 8, 0u) << "eight discs of one size";
  options.order = 7;
  EXPECT_THROW(draw_points(options), shoal::bad_argument);
}

TEST(Picture, WrongOptionsAreNamed) {
  const auto refused = [](auto change) {
    picture_options options = small();
    change(options);
    try {
      draw_sponge(options);
    } catch (const shoal::bad_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refused([](auto& o) { o.order = 33; }), "order must be at most 32 for a picture; got 33");
  EXPECT_EQ(refused([](auto& o) { o.distance = 0.5; }), "distance must be from 0.9 to 1000; got 0.5");
  EXPECT_EQ(refused([](auto& o) { o.elevation = NAN; }), "elevation must be from -90 to 90; got nan");
  EXPECT_EQ(refused([](auto& o) { o.width = 0; }),
            "a picture of 0 x 120 pixels cannot be drawn; each side must be from 1 to 16384");
  EXPECT_EQ(refused([](auto& o) { o.lights.resize(5); }), "there are at most 4 lights; got 5");
  EXPECT_EQ(refused([](auto& o) {
              o.section = section_plane{{0, 0, 0}, 1};
            }),
            "the normal of a section must not be 0,0,0");
}

TEST(Picture, StopsWhenItIsAsked) {
  std::stop_source stop;
  stop.request_stop();
  const shoal::control control{{}, stop.get_token()};
  EXPECT_THROW(draw_sponge(small(), control), shoal::interrupted);
  EXPECT_THROW(draw_points(small(), control), shoal::interrupted);
}
