// The window of shoal view; skips where there is no display (xvfb-run gives one).
#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/geometry/sponge.hpp>

#include "viewer/cloud_scene.hpp"
#include "viewer/sponge_scene.hpp"
#include "viewer/wave_scene.hpp"
#include "viewer/window/window.hpp"

namespace {

using namespace shoal::viewer;

constexpr int across = 320, down = 240;
using image = std::vector<std::uint8_t>;

class windows : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) {
      GTEST_SKIP() << "there is no display here (xvfb-run gives one)";
    }
  }
};

std::size_t share_of(const image& pixels, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < pixels.size(); i += 3)
    count += (pixels[i] > 0) == (red > 0) && (pixels[i + 1] > 0) == (green > 0) && (pixels[i + 2] > 0) == (blue > 0);
  return 100 * count / (pixels.size() / 3);
}

TEST_F(windows, show_the_faces_of_a_sponge_in_their_colours) {
  window shown(sponge_scene(2, {}), {}, across, down, true);
  ASSERT_EQ(shown.width(), across);
  const image pixels = shown.pixels();
  // From the south-east above: the east is blue, the north green, the top red; the paper is white.
  EXPECT_GT(share_of(pixels, 0, 0, 255), 8u);
  EXPECT_GT(share_of(pixels, 0, 255, 0), 4u);
  EXPECT_GT(share_of(pixels, 255, 0, 0), 4u);
  EXPECT_GT(share_of(pixels, 255, 255, 255), 30u);
  EXPECT_EQ(share_of(pixels, 255, 255, 0), 0u);
  EXPECT_EQ(shown.pixels(), pixels);
}

TEST_F(windows, keys_do_what_they_do_on_the_page) {
  window shown(sponge_scene(1, {}), {}, across, down, true);
  const image first = shown.pixels();
  EXPECT_TRUE(shown.press("+"));
  EXPECT_EQ(shown.state().order, 2u);
  EXPECT_NE(shown.pixels(), first);
  for (int i = 0; i < 4; ++i) shown.press("-");
  EXPECT_EQ(shown.state().order, 0u);
  for (const char* key : {"w", "p", "c", "]", "ArrowUp", "PageUp"}) EXPECT_TRUE(shown.press(key)) << key;
  const window_state changed = shown.state();
  EXPECT_TRUE(changed.view.wireframe);
  EXPECT_EQ(changed.view.projection, projection::orthographic);
  EXPECT_EQ(changed.view.section, section::x);
  EXPECT_DOUBLE_EQ(changed.view.section_offset, 0.05);
  EXPECT_DOUBLE_EQ(changed.view.elevation, 30);
  EXPECT_DOUBLE_EQ(changed.view.zoom, 1.15);
  EXPECT_NE(shown.pixels(), first);
  EXPECT_TRUE(shown.press("ArrowLeft", true));
  EXPECT_TRUE(shown.press("r"));
  EXPECT_EQ(shown.pixels(), first);
  EXPECT_FALSE(shown.press("q"));
  EXPECT_TRUE(shown.press("Escape"));
  EXPECT_FALSE(shown.state().open);
}

TEST_F(windows, show_every_order_that_a_page_shows) {
  window shown(sponge_scene(most_sponge_order, {}), {}, 32, 24, true);
  EXPECT_EQ(shown.state().order, 5u);
  const image pixels = shown.pixels();
  EXPECT_GT(share_of(pixels, 0, 0, 255), 8u);
  shown.press("+");
  EXPECT_EQ(shown.state().order, 5u);
  shown.press("-");
  EXPECT_EQ(shown.state().order, 4u);
}

TEST_F(windows, a_section_shows_the_inside) {
  view_settings view;
  view.section = section::diagonal;
  window cut(sponge_scene(0, view), view, across, down, true);
  const image pixels = cut.pixels();
  // The flat colour of the inside in the middle of a cube that is cut in half.
  const std::size_t middle = 3 * (static_cast<std::size_t>(down) / 2 * across + across / 2);
  for (std::size_t part = 0; part < 3; ++part) {
    EXPECT_NEAR(pixels[middle + part], shoal::geometry::section_colour[part], 2);
  }
}

TEST_F(windows, show_clouds_and_waves) {
  std::vector<double> rows;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 3; ++j) rows.push_back(static_cast<double>((i * (7 + 4 * j)) % 101) + (i % 2) * 200);
    labels.push_back(i % 2);
  }
  cloud_request request;
  request.cloud.rows = {rows.data(), 300, 3};
  request.cloud.labels = labels;
  for (const double at : {50.0, 250.0}) request.cloud.shapes.push_back({0.5, {at, at, at}, {}});
  window cloud(cloud_scene(request), {}, across, down, true);
  const auto colours = [](const image& pixels) {
    std::set<std::vector<std::uint8_t>> seen;
    for (std::size_t i = 0; i < pixels.size(); i += 3) seen.insert({pixels[i], pixels[i + 1], pixels[i + 2]});
    return seen.size();
  };
  EXPECT_GT(colours(cloud.pixels()), 100u);

  std::vector<double> heights;
  for (int t = 0; t < 3; ++t)
    for (int i = 0; i < 100; ++i) heights.push_back((i * (t + 1)) % 10);
  wave_request waves;
  waves.times = 3;
  waves.rows = waves.columns = 10;
  waves.values = heights;
  window wave(wave_scene(waves, {}), {}, across, down, true);
  const image last = wave.pixels();
  wave.press(",");
  EXPECT_EQ(wave.state().moment, 1u);
  EXPECT_NE(wave.pixels(), last);
  wave.press(".");
  EXPECT_EQ(wave.pixels(), last);
}

}  // namespace
