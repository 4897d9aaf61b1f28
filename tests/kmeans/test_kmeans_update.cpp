// Batches into centroids that are means of all their rows, and distances to centroids.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/distances.hpp>
#include <shoal/kmeans/update.hpp>

namespace {

namespace kmeans = shoal::kmeans;

// Rows near (0, 0), (100, 100) and (200, 200), in turns.
template <class Scalar>
std::vector<Scalar> three_groups(std::size_t rows) {
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      values.push_back(
          static_cast<Scalar>(100.0 * static_cast<double>(i % 3) + std::sin(7.0 * static_cast<double>(2 * i + j))));
    }
  }
  return values;
}

template <class Scalar>
void expect_exact_means() {
  constexpr std::size_t rows = 1000;
  const std::vector<Scalar> values = three_groups<Scalar>(rows);
  std::vector<Scalar> weights;
  for (std::size_t i = 0; i < rows; ++i) weights.push_back(static_cast<Scalar>(1 + i % 4));
  kmeans::model model{3, 2, {0, 0, 100, 100, 200, 200}, {}};
  std::vector<double> seen(3, 0.0);
  std::vector<std::int32_t> labels(rows, -1);
  for (std::size_t first = 0; first < rows; first += 137) {
    const std::size_t count = std::min<std::size_t>(137, rows - first);
    const shoal::view_source<Scalar> source({values.data() + 2 * first, count, 2});
    const shoal::view_source<Scalar> weight_source({weights.data() + first, count, 1});
    EXPECT_GT(kmeans::update(model, seen, source, labels.data() + first, 2, 0, &weight_source), 0.0);
  }
  std::vector<double> sums(6, 0.0), totals(3, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    ASSERT_EQ(labels[i], static_cast<std::int32_t>(i % 3)) << i;
    totals[i % 3] += weights[i];
    for (std::size_t j = 0; j < 2; ++j) sums[2 * (i % 3) + j] += static_cast<double>(weights[i]) * values[2 * i + j];
  }
  const double tolerance = sizeof(Scalar) == 4 ? 1e-6 : 1e-13;
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(seen[k], totals[k], tolerance * totals[k]);
    for (std::size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(model.centroids[2 * k + j], sums[2 * k + j] / totals[k], tolerance * 200);
    }
  }
}

TEST(KmeansUpdate, KeepsExactMeansInFloat64) { expect_exact_means<double>(); }
TEST(KmeansUpdate, KeepsExactMeansInFloat32) { expect_exact_means<float>(); }

TEST(KmeansUpdate, LeavesCentroidsWithoutRows) {
  const std::vector<double> values = three_groups<double>(30);
  const shoal::view_source<double> source({values.data(), 30, 2});
  kmeans::model model{4, 2, {0, 0, 100, 100, 200, 200, 1e6, 1e6}, {}};
  std::vector<double> seen{0, 0, 0, 0};
  kmeans::update(model, seen, source, nullptr);
  EXPECT_EQ(model.centroids[6], 1e6);
  EXPECT_EQ(seen[3], 0.0);
}

TEST(KmeansUpdate, RefusesWhatItCannotUse) {
  const std::vector<double> values = three_groups<double>(30);
  const shoal::view_source<double> source({values.data(), 30, 2});
  const kmeans::model model{1, 2, {0, 0}, {}};
  for (std::vector<double> seen : {std::vector<double>{}, {-1.0}, {std::numeric_limits<double>::infinity()}}) {
    kmeans::model copy = model;
    EXPECT_THROW(kmeans::update(copy, seen, source, nullptr), shoal::bad_argument);
  }
  kmeans::model narrow{1, 1, {0}, {}};
  std::vector<double> seen{0};
  EXPECT_THROW(kmeans::update(narrow, seen, source, nullptr), shoal::bad_argument);
}

template <class Scalar>
void expect_distances(double offset, std::size_t rows, std::size_t columns, std::size_t clusters) {
  std::vector<Scalar> values;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    values.push_back(static_cast<Scalar>(offset + std::sin(static_cast<double>(i))));
  }
  kmeans::model model{clusters, columns, {}, {}};
  for (std::size_t i = 0; i < clusters * columns; ++i) {
    model.centroids.push_back(offset + std::cos(3.0 * static_cast<double>(i)));
  }
  const shoal::view_source<Scalar> source({values.data(), rows, columns});
  std::vector<Scalar> distances(rows * clusters, -1);
  kmeans::distances(model, source, distances.data(), 2);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < clusters; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double difference = values[i * columns + j] - model.centroids[k * columns + j];
        sum += difference * difference;
      }
      const double expected = std::sqrt(sum);
      const double tolerance = sizeof(Scalar) == 4 ? 1e-6 : 1e-14;
      ASSERT_NEAR(distances[i * clusters + k], expected, tolerance * (1 + expected)) << i << ' ' << k;
    }
  }
}

TEST(KmeansDistances, AreThoseOfTheDifferences) {
  for (const std::size_t rows : {1u, 7u, 513u}) {
    for (const std::size_t columns : {1u, 3u, 17u}) {
      for (const std::size_t clusters : {1u, 8u, 33u}) {
        expect_distances<double>(0, rows, columns, clusters);
        expect_distances<float>(1e6, rows, columns, clusters);
      }
    }
  }
}

}  // namespace
