// Scenes: where points, ellipsoids and surfaces lie.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>

#include "report/ellipse.hpp"
#include "viewer/cloud_scene.hpp"
#include "viewer/space.hpp"
#include "viewer/sponge_scene.hpp"
#include "viewer/surface_scene.hpp"
#include "viewer/wave_scene.hpp"

namespace {

using namespace shoal;
using namespace shoal::viewer;

template <class Work>
void expect_refused(const Work& work, const std::string& part) {
  try {
    work();
    ADD_FAILURE() << "not refused: " << part;
  } catch (const bad_argument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find(part), std::string::npos) << refusal.what();
  }
}

// Eight corners of a box, two groups.
struct corners {
  std::vector<double> rows;
  std::vector<std::int32_t> labels;
  cloud_request request;

  explicit corners(std::size_t columns = 3) {
    for (int i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        rows.push_back(j < 3 ? (i >> j & 1) * (10.0 + 10.0 * static_cast<double>(j)) : 0.1 * i);
      labels.push_back(i / 4);
    }
    request.cloud.rows = {rows.data(), 8, columns};
    request.cloud.labels = labels;
  }
};

TEST(contours, hold_their_shares) {
  // The quantiles of chi-square distributions of one, two and three degrees of freedom, from tables.
  EXPECT_NEAR(contour_distance(0.95, 1), std::sqrt(3.841458820694124), 1e-9);
  EXPECT_NEAR(contour_distance(0.95, 2), std::sqrt(5.991464547107979), 1e-9);
  EXPECT_NEAR(contour_distance(0.95, 3), std::sqrt(7.814727903251179), 1e-9);
  EXPECT_NEAR(contour_distance(0.5, 3), std::sqrt(2.365973884375338), 1e-9);
  expect_refused([] { contour_distance(0, 3); }, "between 0 and 1");
  expect_refused([] { contour_distance(1, 1); }, "between 0 and 1");
}

TEST(ellipsoids, have_the_axes_of_their_covariance) {
  const auto axes = report::covariance_ellipsoid({4, 0, 0, 0, 1, 0, 0, 0, 9});
  const std::array<double, 9> expected = {0, 0, 3, 2, 0, 0, 0, 1, 0};
  for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(axes[i], expected[i], 1e-12) << i;
  // A Aᵀ is the covariance.
  const std::array<double, 9> covariance = {2, 0.5, 0.3, 0.5, 1, -0.2, 0.3, -0.2, 0.7};
  const auto turned = report::covariance_ellipsoid(covariance);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += turned[3 * k + i] * turned[3 * k + j];
      EXPECT_NEAR(sum, covariance[3 * i + j], 1e-12);
    }
  for (const double entry : report::covariance_ellipsoid({NAN, 0, 0, 0, 1, 0, 0, 0, 1})) EXPECT_EQ(entry, 0);
}

TEST(clouds, points_lie_where_their_rows_are) {
  const corners box;
  const scene made = cloud_scene(box.request);
  ASSERT_EQ(made.points->count(), 8u);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t a = 0; a < 3; ++a) {
      // A margin of 4 % is left on each side: a corner lies at 0.04 or 1.04 of 1.08.
      const double share = made.points->packed[4 * i + a] / 65535.0;
      EXPECT_NEAR(share, ((i >> a & 1) + 0.04) / 1.08, 1.0 / 65535) << i << " " << a;
    }
    EXPECT_EQ(made.points->packed[4 * i + 3], 256 * (i / 4) + 255);
  }
  EXPECT_EQ(made.axes[1].label, "column 1");
  EXPECT_TRUE(made.groups.empty());
}

TEST(clouds, certain_rows_are_opaque) {
  corners box;
  const std::vector<float> strengths = {1, 0.5F, 0.75F, 1, 1, 1, 1, 1};
  box.request.strengths = strengths;
  for (const double x : {0.0, 5.0}) box.request.cloud.shapes.push_back({0.5, {x, x, x}, {1, 0, 0, 0, 1, 0, 0, 0, 1}});
  const scene made = cloud_scene(box.request);
  EXPECT_EQ(made.points->packed[3], 255);
  EXPECT_EQ(made.points->packed[7], std::lround(255 * 0.12));
  EXPECT_EQ(made.points->packed[11], std::lround(255 * 0.56));
  ASSERT_EQ(made.groups.size(), 2u);
  EXPECT_EQ(made.contours.size(), 2u);
}

TEST(clouds, groups_without_a_covariance_get_that_of_their_rows) {
  corners box;
  for (const double z : {0.0, 30.0}) box.request.cloud.shapes.push_back({0, {5, 10, z}, {}});
  const scene made = cloud_scene(box.request);
  ASSERT_TRUE(made.groups[0].axes);
  // In the scene each side is 2 / 1.08 long, so that each corner lies 1 / 1.08 from the middle; there is no depth.
  const std::array<double, 9>& axes = *made.groups[0].axes;
  EXPECT_NEAR(std::hypot(axes[0], axes[1], axes[2]), 1 / 1.08, 1e-9);
  EXPECT_NEAR(std::hypot(axes[6], axes[7], axes[8]), 1e-3 / 1.08, 1e-9);
  EXPECT_NE(made.notes.back().find("covariance of the rows"), std::string::npos);
}

TEST(clouds, more_than_three_columns_become_principal_axes) {
  const corners box(5);
  const space chosen = choose_space(box.request.cloud, {});
  EXPECT_TRUE(chosen.one_scale);
  // The third column varies most, then the second.
  EXPECT_NEAR(chosen.directions[0][2], 1, 1e-3);
  EXPECT_NEAR(chosen.directions[1][1], 1, 1e-3);
  EXPECT_EQ(chosen.dimensions(), 3u);
  const scene made = cloud_scene(box.request);
  EXPECT_NEAR(made.axes[0].half, 1, 1e-9);
  EXPECT_LT(made.axes[2].half, 0.5);
}

TEST(clouds, two_columns_are_flat) {
  corners box(2);
  box.request.axes = {"1", "0"};
  const scene made = cloud_scene(box.request);
  EXPECT_EQ(made.axes[0].label, "column 1");
  EXPECT_EQ(made.axes[2].half, 0);
  EXPECT_EQ(made.points->packed[2], 32768);
}

TEST(clouds, rows_far_out_are_left_out_and_told) {
  corners box;
  std::vector<double> rows;
  for (int i = 0; i < 1000; ++i)
    for (int j = 0; j < 3; ++j) rows.push_back(std::sin(i * (j + 1)));
  rows[0] = 1e9;
  rows[4] = NAN;
  box.request.cloud.rows = {rows.data(), 1000, 3};
  box.request.cloud.labels = {};
  const scene made = cloud_scene(box.request);
  EXPECT_EQ(made.points->count(), 998u);
  EXPECT_EQ(made.notes.front(), "2 rows are far out or not finite and left out.");
}

TEST(clouds, wrong_axes_are_refused) {
  corners box;
  box.request.axes = {"length"};
  expect_refused([&] { cloud_scene(box.request); }, "no column 'length'; give names, or numbers below 3");
  box.request.axes = {"0", "1", "2", "0"};
  expect_refused([&] { cloud_scene(box.request); }, "three at most");
}

surface_request flat_map(std::size_t width, std::size_t height, std::vector<double>& weights,
                         std::vector<double>& values) {
  weights.clear();
  for (std::size_t u = 0; u < width * height; ++u) {
    weights.insert(weights.end(), {static_cast<double>(u % width), static_cast<double>(u / width), 0.5});
  }
  values.assign(width * height, 0);
  for (std::size_t u = 0; u < values.size(); ++u) values[u] = static_cast<double>(u);
  surface_request request;
  request.width = width;
  request.height = height;
  request.weights = {weights.data(), width * height, 3};
  request.values = values;
  return request;
}

TEST(maps, are_meshes_of_their_units) {
  std::vector<double> weights, values;
  surface_request request = flat_map(5, 4, weights, values);
  const auto sizes = [&] {
    const scene_surface made = *surface_scene(request, {}).surface;
    std::set<std::pair<std::uint32_t, std::uint32_t>> lines;
    for (std::size_t i = 0; i < made.lines.size(); i += 2) lines.insert(std::minmax(made.lines[i], made.lines[i + 1]));
    EXPECT_EQ(lines.size(), made.lines.size() / 2) << "a line stands twice";
    return std::pair(made.triangles.size() / 3, lines.size());
  };
  EXPECT_EQ(sizes(), std::pair(std::size_t{2 * 4 * 3}, std::size_t{4 * 4 + 5 * 3}));
  request.hexagonal = true;
  // Rows that touch are joined by 2 · 5 − 1 lines.
  EXPECT_EQ(sizes(), std::pair(std::size_t{2 * 4 * 3}, std::size_t{4 * 4 + 9 * 3}));
  request.toroidal = true;
  EXPECT_EQ(sizes(), std::pair(std::size_t{2 * 5 * 4}, std::size_t{3 * 5 * 4}));
  const scene_surface made = *surface_scene(request, {}).surface;
  EXPECT_EQ(made.values.front(), 0);
  EXPECT_EQ(made.values.back(), 255);
  request.width = 6;
  expect_refused([&] { surface_scene(request, {}); }, "20 units and 20 values for a map of 6 x 4");
}

TEST(waves, are_height_fields) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5};
  wave_request request;
  request.times = 3;
  request.columns = 2;
  request.values = values;
  request.times_at = {0, 1, 4};
  const scene line = wave_scene(request, {});
  EXPECT_EQ(line.field->rows, 3u);
  EXPECT_EQ(line.field->times.size(), 1u);
  EXPECT_FLOAT_EQ(line.field->row_places[1], -0.5F);
  EXPECT_EQ(line.field->heights.front(), 0);
  EXPECT_EQ(line.field->heights.back(), 65535);
  EXPECT_EQ(line.axes[1].label, "time");
  request.times = 1;
  request.rows = 3;
  request.times_at = {7};
  const scene plane = wave_scene(request, {});
  EXPECT_EQ(plane.field->times, std::vector<std::string>{"7"});
  EXPECT_NEAR(plane.axes[0].half, 0.5, 1e-9);
  request.times_at = {1, 2};
  expect_refused([&] { wave_scene(request, {}); }, "2 times were given for 1 states");
  request.times = 6;
  request.rows = request.columns = 1;
  request.times_at = {};
  expect_refused([&] { wave_scene(request, {}); }, "two nodes");
}

TEST(sponges, that_are_too_large_are_refused_with_faces_and_bytes) {
  EXPECT_EQ(sponge_scene(3, {}).subtitle, "order 3: 8,000 cubes, 18,048 faces");
  expect_refused([] { sponge_scene(6, {}); }, "129,048,576 faces, 516,194,304 bytes");
  expect_refused([] { sponge_scene(40, {}); }, "orders up to 5");
}

}  // namespace
