// Sums of clusters, of rows so wide that a block is added cluster by cluster and of rows beside them: the bits of one
// addition after the other, however many threads share the rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/tuning.hpp>

#include "../thread_sanitizer.hpp"
#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

struct sums_of_rows {
  kmeans::statistics statistics;
  std::vector<std::int32_t> labels;
};

template <class Scalar>
sums_of_rows fold_by(std::size_t members, const table<Scalar>& data, const std::vector<Scalar>& weights,
                     const std::vector<double>& centroids, std::size_t clusters) {
  kmeans::prepared_centroids<Scalar> prepared;
  prepared.set(centroids, clusters, data.columns);
  const kmeans::statistics_monoid monoid{clusters, data.columns};
  sums_of_rows found{monoid.identity(), std::vector<std::int32_t>(data.rows)};
  typename kmeans::accumulate_body<Scalar>::scratch memory;
  const kmeans::accumulate_body<Scalar> body{&prepared, found.labels.data()};
  const shoal::row_block<Scalar> rows{data.view(), weights.empty() ? nullptr : weights.data(), 0};
  const auto workers = shoal::make_threads(members);
  workers->run(1, members,
               [&](std::size_t, const shoal::team_member& member) { body(rows, member, memory, found.statistics); });
  return found;
}

// The same sums by their definition.
template <class Scalar>
kmeans::statistics plain_sums(const table<Scalar>& data, const std::vector<Scalar>& weights,
                              const std::vector<double>& centroids, std::size_t clusters,
                              const std::vector<std::int32_t>& labels) {
  kmeans::statistics sums = kmeans::statistics_monoid{clusters, data.columns}.identity();
  for (std::size_t i = 0; i < data.rows; ++i) {
    const auto k = static_cast<std::size_t>(labels[i]);
    const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[i]);
    for (std::size_t j = 0; j < data.columns; ++j) {
      const double difference =
          static_cast<double>(data.values[i * data.columns + j]) - centroids[k * data.columns + j];
      const double weighted = difference * weight;
      sums.sums[k * data.columns + j] += weighted;
      sums.inertia += weighted * difference;
    }
    sums.weights[k] += weight;
  }
  return sums;
}

template <class Scalar>
class RowSums : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RowSums, scalars);

TYPED_TEST(RowSums, AreThoseOfOneRowAfterTheOther) {
  struct shape {
    std::size_t rows, columns, clusters;
  };
  const std::size_t wide = kmeans::least_ordered_columns, most = kmeans::most_ordered_clusters;
  for (const shape s : {shape{1300, wide - 1, 20}, shape{1300, wide, 20}, shape{1300, wide + 1, 20},
                        shape{511, wide + 7, 3}, shape{512, wide + 15, 1}, shape{513, wide + 16, 600}, shape{1, 300, 2},
                        shape{2100, 303, 64}, shape{700, 771, 5}, shape{600, wide, most}, shape{600, wide, most + 1}}) {
    if (under_thread_sanitizer && s.clusters > 100) continue;  // threads share rows, however many clusters there are
    const auto data = clouds<TypeParam>(s.rows, s.columns, 5, 0.2, 3);
    std::vector<double> centroids(s.clusters * s.columns, 1e3);  // those beyond the rows stay empty
    const auto spread = spread_rows(data.view(), std::min(s.clusters, s.rows));
    std::copy(spread.begin(), spread.end(), centroids.begin());
    std::vector<TypeParam> some_weights(s.rows);
    for (std::size_t i = 0; i < s.rows; ++i) some_weights[i] = static_cast<TypeParam>(0.1 * static_cast<double>(i % 6));
    for (const auto& weights : {std::vector<TypeParam>(), some_weights}) {
      SCOPED_TRACE(std::to_string(s.rows) + " x " + std::to_string(s.columns) + ", K = " + std::to_string(s.clusters) +
                   (weights.empty() ? "" : ", weighted"));
      const auto alone = fold_by(1, data, weights, centroids, s.clusters);
      const auto expected = plain_sums(data, weights, centroids, s.clusters, alone.labels);
      EXPECT_EQ(alone.statistics.sums, expected.sums);
      EXPECT_EQ(alone.statistics.weights, expected.weights);
      EXPECT_NEAR(alone.statistics.inertia, expected.inertia, 1e-12 * expected.inertia);
      for (const std::size_t members : {2, 3}) {
        const auto shared = fold_by(members, data, weights, centroids, s.clusters);
        EXPECT_EQ(shared.labels, alone.labels);
        EXPECT_EQ(shared.statistics.sums, alone.statistics.sums);
        EXPECT_EQ(shared.statistics.weights, alone.statistics.weights);
        EXPECT_EQ(shared.statistics.inertia, alone.statistics.inertia);
      }
    }
  }
}

// An infinite weight spoils the sums of its own cluster alone.
TYPED_TEST(RowSums, KeepAnInfiniteWeightInItsCluster) {
  auto data = clouds<TypeParam>(600, 300, 5, 0.2);
  const auto centroids = spread_rows(data.view(), 6);
  const auto before = fold_by(1, data, std::vector<TypeParam>(), centroids, 6);
  std::vector<TypeParam> weights(600, 1);
  weights[77] = std::numeric_limits<TypeParam>::infinity();
  const auto after = fold_by(1, data, weights, centroids, 6);
  const auto hit = static_cast<std::size_t>(before.labels[77]);
  for (std::size_t i = 0; i < after.statistics.sums.size(); ++i) {
    if (i / 300 == hit) {
      EXPECT_FALSE(std::isfinite(after.statistics.sums[i]));
    } else {
      EXPECT_EQ(after.statistics.sums[i], before.statistics.sums[i]);
    }
  }
}

}  // namespace
