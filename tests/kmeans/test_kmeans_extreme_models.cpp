// Centroids at the ends of float64's range: distances to them are numbers, or they are refused.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/kmeans.hpp>

namespace {

namespace kmeans = shoal::kmeans;

template <class Scalar>
void expect_numbers_or_refusals() {
  const std::vector<Scalar> values = {0, 0, 1, 2, 3e37F, -3e37F, 1, 1e-30F};
  const shoal::view_source<Scalar> rows({values.data(), 4, 2});
  std::size_t computed = 0, refused = 0;
  const auto trial = [&](const auto& work) {
    try {
      work();
      ++computed;
    } catch (const shoal::error&) {
      ++refused;
    }
  };
  for (const double centroid : {1e-320, 1e20, 1e37, 1e100, -1e149, 1e151, 1e200, 1e308}) {
    const kmeans::model model{2, 2, {centroid, 1, 0, 0.5}, {}};
    trial([&] {
      std::vector<std::int32_t> labels(4, -1);
      EXPECT_TRUE(std::isfinite(kmeans::predict(model, rows, labels.data(), 1))) << centroid;
      for (const std::int32_t label : labels) EXPECT_TRUE(label == 0 || label == 1) << centroid;
      if (centroid > 1e38) EXPECT_EQ(labels, (std::vector<std::int32_t>{1, 1, 1, 1})) << centroid;
    });
    trial([&] {
      std::vector<Scalar> distances(8);
      kmeans::distances(model, rows, distances.data(), 1);
      for (const Scalar distance : distances) EXPECT_FALSE(std::isnan(distance)) << centroid;
    });
    trial([&] {
      kmeans::options options;
      options.clusters = 2;
      options.init = kmeans::seeding::centroids;
      options.centroids = model.centroids;
      options.threads = 1;
      const kmeans::fit_result result = kmeans::fit(rows, options);
      EXPECT_TRUE(std::isfinite(result.inertia)) << centroid;
      for (const double value : result.model.centroids) EXPECT_TRUE(std::isfinite(value)) << centroid;
    });
  }
  EXPECT_EQ(refused, 9u);
  EXPECT_EQ(computed, 15u);
}

TEST(KmeansExtremeModels, MeasureNumbersOrAreRefusedInFloat32) { expect_numbers_or_refusals<float>(); }
TEST(KmeansExtremeModels, MeasureNumbersOrAreRefusedInFloat64) { expect_numbers_or_refusals<double>(); }

}  // namespace
