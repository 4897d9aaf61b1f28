// What k-means is folded with keeps the laws of folding: its statistics and the rows that empty clusters take.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/execution/executor.hpp>
#include <shoal/kmeans/accumulate.hpp>
#include <shoal/kmeans/relocate.hpp>
#include <shoal/kmeans/statistics.hpp>

#include "../statistics_laws.hpp"
#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::table;

// Rows of one sample, with what makes them awkward.
struct awkward_rows {
  std::size_t rows;
  double offset;
  double weight;  // of each row; 0: every third row has weight 1 and the others none
};
constexpr awkward_rows awkward[] = {{1, 0, 1}, {1025, 0, 1}, {700, 2, 1e-30}, {60, 0, 1e30}, {90, 1e6, 1}, {50, 0, 0}};

struct shape {
  std::size_t clusters;
  std::size_t columns;
};
constexpr shape shapes[] = {{2, 2}, {20, 5}};  // assigned and summed in one pass, and in two

std::vector<double> spread_centroids(const shape& s) {
  std::vector<double> centroids;
  for (std::size_t i = 0; i < s.clusters * s.columns; ++i) {
    centroids.push_back(3 * std::sin(static_cast<double>(7 * i)));
  }
  return centroids;
}

// Calls visit(rows, weights) for the rows of each sample.
template <class Scalar, class Visit>
void for_each_sample(const shape& s, const Visit& visit) {
  for (const awkward_rows& how : awkward) {
    const table<Scalar> rows = clouds<Scalar>(how.rows, s.columns, s.clusters, 2, how.offset);
    std::vector<Scalar> weights;
    for (std::size_t i = 0; i < how.rows; ++i) {
      weights.push_back(static_cast<Scalar>(how.weight > 0 ? how.weight : (i % 3 == 0 ? 1 : 0)));
    }
    const shoal::view_source<Scalar> source(rows.view());
    const shoal::view_source<Scalar> weight_source({weights.data(), how.rows, 1});
    visit(shoal::weighted_rows<Scalar>{&source, &weight_source, 1});
  }
}

template <class Scalar>
class KmeansLaws : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KmeansLaws, scalars);

TYPED_TEST(KmeansLaws, StatisticsAreACommutativeMonoid) {
  const auto same = [](const kmeans::statistics& a, const kmeans::statistics& b) {
    return a.weights == b.weights && a.sums == b.sums && a.inertia == b.inertia && a.fingerprint == b.fingerprint;
  };
  const auto close = [](const kmeans::statistics& left, const kmeans::statistics& right,
                        shoal::algebra::operands_of<kmeans::statistics> operands) {
    const auto agree = [&](const auto& element) {
      double magnitude = 0;
      for (const kmeans::statistics& operand : operands) magnitude += std::abs(element(operand));
      return statistics_laws::sums_agree(element(left), element(right), magnitude);
    };
    bool all = left.fingerprint == right.fingerprint && agree([](const auto& value) { return value.inertia; });
    for (std::size_t k = 0; k < left.weights.size(); ++k) {
      all = all && agree([k](const auto& value) { return value.weights[k]; });
    }
    for (std::size_t i = 0; i < left.sums.size(); ++i) {
      all = all && agree([i](const auto& value) { return value.sums[i]; });
    }
    return all;
  };
  const auto alone = shoal::make_sequential();
  for (const shape& s : shapes) {
    const kmeans::statistics_monoid monoid{s.clusters, s.columns};
    kmeans::prepared_centroids<TypeParam> centroids;
    centroids.set(spread_centroids(s), s.clusters, s.columns);
    std::vector<kmeans::statistics> samples{monoid.identity()};
    for_each_sample<TypeParam>(s, [&](const shoal::weighted_rows<TypeParam>& data) {
      samples.push_back(
          shoal::fold<TypeParam>({alone.get(), 0, {}}, data, monoid, kmeans::accumulate_body<TypeParam>{&centroids}));
      EXPECT_GT(samples.back().inertia, 0);
    });
    const auto structure = statistics_laws::structure(monoid, same, close);
    const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
    EXPECT_TRUE(report.passed()) << s.clusters << " clusters: " << report.message();
    statistics_laws::expect_reset(structure, samples);
  }
}

TYPED_TEST(KmeansLaws, FarthestRowsAreACommutativeMonoid) {
  const auto alone = shoal::make_sequential();
  const shape s = shapes[0];
  kmeans::prepared_centroids<TypeParam> centroids;
  centroids.set(spread_centroids(s), s.clusters, s.columns);
  for (const std::size_t count : {1, 7, 100}) {
    std::vector<std::vector<kmeans::far_row>> samples{{}};
    std::size_t first = 0;
    for_each_sample<TypeParam>(s, [&](const shoal::weighted_rows<TypeParam>& data) {
      // The same clouds again and again: equal distances, told apart by the row alone.
      samples.push_back(kmeans::farthest_rows<TypeParam>({alone.get(), 0, {}}, data, centroids, count));
      for (kmeans::far_row& row : samples.back()) row.row += first;
      first += data.rows->rows();
      // Sorted is not a heap with the nearest on top; what the fold keeps is.
      std::ranges::make_heap(samples.back(), kmeans::farther());
    });
    const kmeans::farthest_rows_monoid monoid(count);
    const auto report = shoal::algebra::check_commutative_monoid(monoid, samples);
    EXPECT_TRUE(report.passed()) << report.message();
    statistics_laws::expect_reset(monoid, samples);
  }
}

}  // namespace
