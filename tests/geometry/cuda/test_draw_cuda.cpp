// Pictures drawn on a GPU have the bytes of the host's.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/geometry/geometry.hpp>

#include "../../cuda_devices.hpp"

using namespace shoal::geometry;

namespace {

void expect_same(picture_options options, const std::string& what) {
  const picture host = draw_sponge(options);
  options.device.cuda = {0};
  const picture device = draw_sponge(options);
  EXPECT_EQ(device.pixels, host.pixels) << what;
}

}  // namespace

TEST(DrawCuda, HasTheBytesOfTheHost) {
  SHOAL_NEEDS_DEVICES(1);
  picture_options options;
  options.width = 321;
  options.height = 203;
  for (const unsigned order : {0u, 1u, 4u, 20u, 32u}) {
    options.order = order;
    expect_same(options, "order " + std::to_string(order));
  }
  options.order = 4;
  options.projection = projection::orthographic;
  options.samples = 1;
  options.sky_rays = 7;
  options.lights = {{10, 20, 0.5}, {200, -30, 0.4}};
  expect_same(options, "orthographic");
  options.section = section_plane{};
  expect_same(options, "section");
}
