// Rows far from zero: centroids as good as a float64 can say, and labels and inertia as good as without the offset.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/kmeans/kmeans.hpp>
#include <shoal/kmeans/statistics.hpp>

#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;

constexpr double offset = 1e8;

// Clusters that overlap, with a spread of 1e-6 about the offset; and the same rows less the offset, which is exact.
struct far_rows {
  std::vector<double> far, near;

  far_rows() {
    const auto made = kmeans_reference::clouds<double>(900, 2, 3, 2.0, 0, 7);
    for (std::size_t i = 0; i < 900; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        far.push_back(offset + 1e-6 * made.view()(i, j));
        near.push_back(far.back() - offset);
      }
    }
  }
};

kmeans::options options_for(kmeans::seeding init) {
  kmeans::options options;
  options.clusters = 3;
  options.init = init;
  options.seed = 3;
  options.threads = 1;
  options.tolerance = 0;
  return options;
}

TEST(KmeansOffset, ChangesNothingButTheLastRoundingOfTheCentroids) {
  const far_rows rows;
  for (const auto init : {kmeans::seeding::plus_plus, kmeans::seeding::parallel, kmeans::seeding::random_rows}) {
    const auto options = options_for(init);
    const auto found = kmeans::fit(shoal::matrix_view<const double>{rows.far.data(), 900, 2}, options);
    const auto expected = kmeans::fit(shoal::matrix_view<const double>{rows.near.data(), 900, 2}, options);
    EXPECT_NEAR(found.inertia / expected.inertia, 1, 1e-9);
    EXPECT_EQ(found.iterations, expected.iterations);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(found.cluster_weights[k], expected.cluster_weights[k]) << k;
    for (std::size_t i = 0; i < 6; ++i) {
      const double half_step = (std::nextafter(offset, 2 * offset) - offset) / 2;
      EXPECT_LE(std::abs((found.model.centroids[i] - offset) - expected.model.centroids[i]), 1.001 * half_step) << i;
    }
  }
}

TEST(KmeansOffset, StartsFromCentroidsInTheRowsCoordinatesAndPredictsThere) {
  const far_rows rows;
  const shoal::matrix_view<const double> view{rows.far.data(), 900, 2};
  auto options = options_for(kmeans::seeding::plus_plus);
  const auto found = kmeans::fit(view, options);
  options.init = kmeans::seeding::centroids;
  options.centroids = found.model.centroids;
  const auto again = kmeans::fit(view, options);
  EXPECT_NEAR(again.inertia / found.inertia, 1, 1e-4);
  EXPECT_LE(again.iterations, 4u);
  std::vector<std::int32_t> labels(900);
  const shoal::view_source<double> source(view);
  kmeans::predict(found.model, source, labels.data(), 1);
  std::vector<double> distances(2700);
  kmeans::distances(found.model, source, distances.data(), 1);
  for (std::size_t i = 0; i < 900; ++i) {
    double least = distances[3 * i];
    std::int32_t nearest = 0;
    for (std::int32_t k = 1; k < 3; ++k) {
      if (distances[3 * i + static_cast<std::size_t>(k)] < least) {
        least = distances[3 * i + static_cast<std::size_t>(nearest = k)];
      }
    }
    ASSERT_EQ(labels[i], nearest) << i;
    const double x = rows.far[2 * i] - found.model.centroids[2 * static_cast<std::size_t>(nearest)];
    const double y = rows.far[2 * i + 1] - found.model.centroids[2 * static_cast<std::size_t>(nearest) + 1];
    ASSERT_NEAR(least / std::hypot(x, y), 1, 1e-12) << i;
  }
}

// Sums about the centroids have no offset: a float32 table's centroids are those of its values in float64.
TEST(KmeansOffset, Float32RowsHaveTheCentroidsOfTheirValuesInFloat64) {
  const auto made = kmeans_reference::clouds<double>(900, 2, 3, 2.0, 0, 7);
  std::vector<float> narrow;
  std::vector<double> wide;
  for (std::size_t i = 0; i < 1800; ++i) {
    narrow.push_back(static_cast<float>(1e6 + made.view()(i / 2, i % 2)));
    wide.push_back(static_cast<double>(narrow.back()));
  }
  const auto options = options_for(kmeans::seeding::plus_plus);
  const auto found = kmeans::fit(shoal::matrix_view<const float>{narrow.data(), 900, 2}, options);
  const auto expected = kmeans::fit(shoal::matrix_view<const double>{wide.data(), 900, 2}, options);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(found.model.centroids[i], expected.model.centroids[i], 1e-5) << i;
  EXPECT_NEAR(found.inertia / expected.inertia, 1, 1e-6);
}

}  // namespace
