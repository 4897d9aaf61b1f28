// Whole fits against the plain reference: sizes, weights, stop rules, empty clusters, restarts, prediction.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/first_model.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>

#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using kmeans_reference::spread_rows;
using kmeans_reference::table;

kmeans::options from(const std::vector<double>& centroids, std::size_t clusters, std::size_t iterations,
                     double tolerance = 0) {
  kmeans::options options;
  options.clusters = clusters;
  options.init = kmeans::seeding::centroids;
  options.centroids = centroids;
  options.max_iterations = iterations;
  options.tolerance = tolerance;
  return options;
}

template <class Scalar>
kmeans::fit_result fit(shoal::matrix_view<const Scalar> rows, const kmeans::options& options,
                       const std::vector<double>& weights = {}) {
  const shoal::view_source<Scalar> source(rows);
  if (weights.empty()) return kmeans::fit(source, options);
  const std::vector<Scalar> values(weights.begin(), weights.end());
  const shoal::view_source<Scalar> weight_source({values.data(), values.size(), 1});
  return kmeans::fit(source, options, &weight_source);
}

template <class Scalar>
std::vector<std::int32_t> labels_of(const kmeans::model& model, shoal::matrix_view<const Scalar> rows) {
  std::vector<std::int32_t> labels(rows.rows(), -1);
  kmeans::predict(model, shoal::view_source<Scalar>(rows), labels.data());
  return labels;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << what << ", element " << i;
  }
}

template <class Scalar>
void expect_as_reference(const table<Scalar>& data, std::size_t clusters, std::size_t iterations,
                         const std::vector<double>& weights, const std::string& what) {
  const auto start = spread_rows(data.view(), clusters);
  const auto expected = kmeans_reference::lloyd(data.view(), weights, start, iterations, 0);
  const auto got = fit(data.view(), from(start, clusters, iterations), weights);
  const double tolerance = sizeof(Scalar) == 4 ? 1e-6 : 1e-12;
  EXPECT_EQ(got.iterations, expected.iterations) << what;
  EXPECT_EQ(got.converged, expected.converged) << what;
  EXPECT_EQ(got.relocated, expected.relocated) << what;
  expect_near(got.history, expected.history, tolerance, what + " history");
  EXPECT_NEAR(got.inertia, expected.inertia, tolerance * (1e-9 + expected.inertia)) << what;
  expect_near(got.model.centroids, expected.centroids, tolerance, what + " centroids");
  EXPECT_EQ(labels_of(got.model, data.view()), expected.labels) << what;
}

template <class Scalar>
class KmeansFit : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KmeansFit, scalars);

TYPED_TEST(KmeansFit, HandCheckedData) {
  const table<TypeParam> data{6, 2, {0, 0, 0, 2, 2, 0, 10, 10, 10, 12, 12, 10}};
  const auto result = fit(data.view(), from({0, 0, 12, 12}, 2, 300));
  expect_near(result.model.centroids, {2.0 / 3, 2.0 / 3, 32.0 / 3, 32.0 / 3}, 1e-6, "centroids");
  EXPECT_NEAR(result.inertia, 4 * 8.0 / 3, 1e-5);
  expect_near(result.history, {8.0 + 16, 32.0 / 3}, 1e-6, "history");
  EXPECT_EQ(result.iterations, 2u);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.rows, 6u);
  EXPECT_EQ(result.total_weight, 6);
  EXPECT_EQ(labels_of(result.model, data.view()), (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
}

TYPED_TEST(KmeansFit, EqualsTheReferenceAtAwkwardSizes) {
  for (const std::size_t columns : {1, 2, 3, 4, 5, 9, 17}) {
    for (const std::size_t clusters : {1, 2, 3, 7, 8, 9, 20}) {
      for (const std::size_t rows : {1, 20, 511, 513, 1537, 4099}) {
        if (rows < clusters) continue;
        expect_as_reference(clouds<TypeParam>(rows, columns, 6, 3, 0, rows), clusters, 6, {},
                            std::to_string(rows) + "x" + std::to_string(columns) + " K " + std::to_string(clusters));
      }
    }
  }
}

TYPED_TEST(KmeansFit, EqualsTheReferenceWithWeights) {
  for (const std::size_t columns : {2, 6}) {
    for (const std::size_t clusters : {3, 12}) {
      const auto data = clouds<TypeParam>(1537, columns, 6, 3);
      std::vector<double> weights(1537);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(i % 9) / 4;
      expect_as_reference(data, clusters, 8, weights, "weighted");
    }
  }
}

TYPED_TEST(KmeansFit, WeightsAreRepeatedRowsAndTheirScaleDoesNotMatter) {
  const auto data = clouds<TypeParam>(700, 3, 4, 2);
  table<TypeParam> repeated{0, 3, {}};
  std::vector<double> weights;
  for (std::size_t i = 0; i < 700; ++i) {
    weights.push_back(static_cast<double>(i % 4));
    for (std::size_t r = 0; r < i % 4; ++r) {
      repeated.values.insert(repeated.values.end(), data.view().row(i), data.view().row(i) + 3);
      ++repeated.rows;
    }
  }
  const auto start = spread_rows(data.view(), 5);
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-6 : 1e-12;
  const auto weighted = fit(data.view(), from(start, 5, 10), weights);
  const auto plain = fit(repeated.view(), from(start, 5, 10));
  expect_near(weighted.history, plain.history, tolerance, "history");
  expect_near(weighted.model.centroids, plain.model.centroids, tolerance, "centroids");
  EXPECT_EQ(weighted.total_weight, plain.total_weight);
  EXPECT_NEAR(weighted.bic, plain.bic, 1e-5 * std::abs(plain.bic));
  for (const double scale : {0x1p-60, 0x1p+80, 3e-20}) {
    std::vector<double> scaled = weights;
    for (double& weight : scaled) weight *= scale;
    const auto result = fit(data.view(), from(start, 5, 10), scaled);
    expect_near(result.model.centroids, weighted.model.centroids, tolerance, "scaled weights");
    EXPECT_NEAR(result.inertia / scale, weighted.inertia, 1e-6 * weighted.inertia);
  }
}

TYPED_TEST(KmeansFit, StridedRowsGiveTheSameBits) {
  for (const std::size_t columns : {2, 5}) {
    const auto data = clouds<TypeParam>(1300, columns, 4, 2);
    const auto gaps = kmeans_reference::strided(data.view(), columns + 3);
    const auto options = from(spread_rows(data.view(), 6), 6, 5);
    const auto plain = fit(data.view(), options);
    const auto strided = fit(shoal::matrix_view<const TypeParam>(gaps.data(), 1300, columns, columns + 3), options);
    EXPECT_EQ(plain.model.centroids, strided.model.centroids);
    EXPECT_EQ(plain.history, strided.history);
  }
}

TYPED_TEST(KmeansFit, PermutingShiftingAndScalingTheRows) {
  const auto data = clouds<TypeParam>(900, 3, 5, 4);
  const auto start = spread_rows(data.view(), 5);
  const auto plain = fit(data.view(), from(start, 5, 20));
  const double tolerance = sizeof(TypeParam) == 4 ? 1e-5 : 1e-11;

  table<TypeParam> permuted{900, 3, {}};
  for (std::size_t i = 0; i < 900; ++i) {
    const TypeParam* row = data.view().row(i * 7 % 900 + i * 7 / 900 % 1);
    permuted.values.insert(permuted.values.end(), row, row + 3);
  }
  expect_near(fit(permuted.view(), from(start, 5, 20)).model.centroids, plain.model.centroids, tolerance, "permuted");

  table<TypeParam> moved{900, 3, {}};
  std::vector<double> moved_start = start;
  for (const TypeParam value : data.values) moved.values.push_back(value * 4 + 64);
  for (double& value : moved_start) value = value * 4 + 64;
  const auto other = fit(moved.view(), from(moved_start, 5, 20));
  EXPECT_EQ(other.iterations, plain.iterations);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_NEAR((other.model.centroids[i] - 64) / 4, plain.model.centroids[i], 20 * tolerance);
  }
  EXPECT_NEAR(other.inertia / 16, plain.inertia, 20 * tolerance * plain.inertia);
}

TYPED_TEST(KmeansFit, StopRules) {
  const auto data = clouds<TypeParam>(3000, 2, 9, 2);
  const auto start = spread_rows(data.view(), 12);
  const auto exact = kmeans_reference::lloyd(data.view(), {}, start, 1000, 0);
  ASSERT_GT(exact.iterations, 10u);

  // Until no label changes.
  const auto to_the_end = fit(data.view(), from(start, 12, 1000));
  EXPECT_TRUE(to_the_end.converged);
  EXPECT_EQ(to_the_end.iterations, exact.iterations);
  EXPECT_EQ(to_the_end.history[to_the_end.iterations - 1], to_the_end.inertia);

  // scikit-learn's: Σ‖Δc‖² ≤ tolerance · mean variance.
  double mean_variance = 0;
  for (std::size_t j = 0; j < 2; ++j) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 3000; ++i) mean += static_cast<double>(data.view()(i, j)) / 3000;
    for (std::size_t i = 0; i < 3000; ++i) squares += std::pow(static_cast<double>(data.view()(i, j)) - mean, 2);
    mean_variance += squares / 3000 / 2;
  }
  const auto expected = kmeans_reference::lloyd(data.view(), {}, start, 1000, 1e-3 * mean_variance);
  const auto by_shift = fit(data.view(), from(start, 12, 1000, 1e-3));
  EXPECT_TRUE(by_shift.converged);
  EXPECT_EQ(by_shift.iterations, expected.iterations);
  EXPECT_LT(by_shift.iterations, exact.iterations);
  EXPECT_EQ(labels_of(by_shift.model, data.view()), expected.labels);

  // The source's: Σ‖Δc‖² ≤ tolerance · the previous one.
  kmeans::options relative = from(start, 12, 1000, 0.5);
  relative.stop = kmeans::stop_rule::relative_shift;
  const auto by_ratio = fit(data.view(), relative);
  std::size_t steps = 0;
  double before = 0;
  for (std::size_t i = 1; i < 1000 && steps == 0; ++i) {
    const auto a = kmeans_reference::lloyd(data.view(), {}, start, i - 1, 0);
    const auto b = kmeans_reference::lloyd(data.view(), {}, start, i, 0);
    double shift = 0;
    for (std::size_t c = 0; c < 24; ++c) shift += std::pow(a.centroids[c] - b.centroids[c], 2);
    if (i > 1 && shift <= 0.5 * before) steps = i;
    before = shift;
  }
  EXPECT_EQ(by_ratio.iterations, steps);
  EXPECT_TRUE(by_ratio.converged);

  // At the limit, and none at all.
  const auto limited = fit(data.view(), from(start, 12, 3));
  EXPECT_EQ(limited.iterations, 3u);
  EXPECT_FALSE(limited.converged);
  const auto untouched = fit(data.view(), from(start, 12, 0));
  EXPECT_EQ(untouched.iterations, 0u);
  EXPECT_EQ(untouched.model.centroids, start);
  EXPECT_TRUE(untouched.history.empty());
  EXPECT_NEAR(untouched.inertia, limited.history[0], 1e-12 * untouched.inertia);
}

TYPED_TEST(KmeansFit, EmptyClustersTakeTheFarthestRows) {
  // Two clusters start where no row is; the two rows farthest from their centroids are the outliers.
  table<TypeParam> data{14, 2, {}};
  for (int i = 0; i < 12; ++i) {
    data.values.push_back(static_cast<TypeParam>(i % 4));
    data.values.push_back(static_cast<TypeParam>(i / 4));
  }
  data.values.insert(data.values.end(), {50, 50, -40, 3});
  const auto start = std::vector<double>{1, 1, 1000, 1000, -1000, 1000};
  const auto once = fit(data.view(), from(start, 3, 1));
  EXPECT_EQ(once.relocated, 2u);
  EXPECT_EQ((std::vector<double>(once.model.centroids.begin() + 2, once.model.centroids.end())),
            (std::vector<double>{50, 50, -40, 3}));
  EXPECT_NEAR(once.model.centroids[0], 1.5, 1e-6);
  EXPECT_NEAR(once.model.centroids[1], 1, 1e-6);
  expect_as_reference(data, 3, 50, {}, "spread");

  // A row of weight zero is no home for a cluster.
  std::vector<double> weights(14, 1.0);
  weights[12] = 0;
  const auto weighted = fit(data.view(), from(start, 3, 1), weights);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_LT(weighted.model.centroids[i], 49);
}

TYPED_TEST(KmeansFit, RelocationAmongDuplicates) {
  // Ten copies of each of three rows and five clusters: no row is off its centroid in the end, two clusters stay empty.
  table<TypeParam> data{30, 1, {}};
  for (int i = 0; i < 30; ++i) data.values.push_back(static_cast<TypeParam>(i % 3 * 10));
  const auto result = fit(data.view(), from({0, 0, 0, 0, 0}, 5, 100));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.inertia, 0, 1e-9);
  EXPECT_TRUE(std::isfinite(result.bic));
  for (const double value : result.model.centroids) EXPECT_TRUE(std::isfinite(value));
  for (const auto how : {kmeans::seeding::plus_plus, kmeans::seeding::parallel, kmeans::seeding::random_rows}) {
    kmeans::options options;
    options.clusters = 5;
    options.init = how;
    EXPECT_NEAR(fit(data.view(), options).inertia, 0, 1e-9);
  }
}

TYPED_TEST(KmeansFit, KEqualsN) {
  const auto data = clouds<TypeParam>(40, 3, 7, 2);
  for (const auto how : {kmeans::seeding::plus_plus, kmeans::seeding::parallel, kmeans::seeding::random_rows}) {
    kmeans::options options;
    options.clusters = 40;
    options.init = how;
    const auto result = fit(data.view(), options);
    EXPECT_EQ(result.inertia, 0);
    EXPECT_TRUE(result.converged);
    EXPECT_TRUE(std::isnan(result.bic));
  }
}

TYPED_TEST(KmeansFit, RestartsKeepTheLeastInertia) {
  const auto data = clouds<TypeParam>(600, 2, 9, 6);
  kmeans::options options;
  options.clusters = 9;
  options.init = kmeans::seeding::random_rows;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t restarts = 1; restarts <= 6; ++restarts) {
    options.restarts = restarts;
    const auto result = fit(data.view(), options);
    EXPECT_LE(result.inertia, least);
    least = result.inertia;
    EXPECT_EQ(result.history.size(), result.iterations);
  }
  options.restarts = 1;
  EXPECT_LT(least, fit(data.view(), options).inertia) << "one of the later restarts is better on these data";
}

TYPED_TEST(KmeansFit, InertiaNeverRises) {
  const auto data = clouds<TypeParam>(5000, 5, 9, 1.5);
  kmeans::options options;
  options.clusters = 17;
  options.tolerance = 0;
  options.init = kmeans::seeding::random_rows;
  const auto result = fit(data.view(), options);
  for (std::size_t i = 1; i < result.history.size(); ++i) {
    EXPECT_LE(result.history[i], result.history[i - 1] * (1 + 1e-12));
  }
}

TYPED_TEST(KmeansFit, PredictionBelongsToTheModel) {
  const auto data = clouds<TypeParam>(3001, 4, 5, 3);
  kmeans::options options;
  options.clusters = 11;
  const auto result = fit(data.view(), options);
  std::vector<std::int32_t> labels(3001);
  const shoal::view_source<TypeParam> source(data.view());
  EXPECT_EQ(kmeans::predict(result.model, source, labels.data(), 2), result.inertia);
  EXPECT_EQ(labels, kmeans_reference::nearest(data.view(), result.model.centroids));
  const std::vector<TypeParam> twos(3001, 2);
  const shoal::view_source<TypeParam> weights({twos.data(), 3001, 1});
  EXPECT_NEAR(kmeans::predict(result.model, source, labels.data(), 1, 0, &weights), 2 * result.inertia,
              1e-6 * result.inertia);
}

TEST(KmeansFitBadArguments, AreNamed) {
  const auto data = clouds<double>(10, 2, 2, 3);
  const auto message = [&](const kmeans::options& options) {
    try {
      kmeans::fit(data.view(), options);
    } catch (const shoal::error& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  kmeans::options options;
  options.clusters = 11;
  EXPECT_EQ(message(options), "expected at least as many rows as clusters; got 10 rows and 11 clusters");
  EXPECT_THROW(kmeans::fit(data.view(), options), shoal::bad_data);
  options.clusters = 0;
  EXPECT_NE(message(options).find("clusters must be at least 1"), std::string::npos);
  options.clusters = 2;
  options.restarts = 0;
  EXPECT_NE(message(options).find("restarts"), std::string::npos);
  options.restarts = 1;
  options.tolerance = -1;
  EXPECT_NE(message(options).find("tolerance"), std::string::npos);
  options.tolerance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(kmeans::fit(data.view(), options), shoal::bad_argument);
  EXPECT_EQ(message(from({1, 2, 3}, 2, 5)), "first centroids must be 4 values (2 clusters x 2 columns); got 3");
  EXPECT_NE(message(from({1, 2, 3, std::numeric_limits<double>::infinity()}, 2, 5)).find("centroid 1, column 1"),
            std::string::npos);

  auto broken = data;
  broken.values[7] = std::numeric_limits<double>::quiet_NaN();
  options = {};
  options.clusters = 2;
  try {
    kmeans::fit(broken.view(), options);
    FAIL();
  } catch (const shoal::bad_data& failure) {
    EXPECT_NE(std::string(failure.what()).find("row 3, column 1"), std::string::npos) << failure.what();
  }
  const kmeans::model model{1, 3, {1, 2, 3}, {}};
  std::int32_t label[10];
  EXPECT_THROW(kmeans::predict(model, shoal::view_source<double>(data.view()), label), shoal::bad_argument);
}

TEST(KMeansFit, StartsByKMeansParallelFromManyPairsOn) {
  using kmeans::seeding;
  const auto chosen = [](std::size_t clusters, std::size_t rows, seeding asked = seeding::automatic) {
    kmeans::options options;
    options.clusters = clusters;
    options.init = asked;
    return kmeans::chosen_seeding(options, rows);
  };
  EXPECT_EQ(chosen(256, 1 << 20), seeding::parallel);
  EXPECT_EQ(chosen(64, 1 << 18), seeding::parallel);
  EXPECT_EQ(chosen(63, 1 << 24), seeding::plus_plus) << "few clusters are soon chosen";
  EXPECT_EQ(chosen(64, (1 << 18) - 1), seeding::plus_plus) << "and so are those of few rows";
  EXPECT_EQ(chosen(1 << 13, 1 << 19), seeding::plus_plus) << "the candidates would be a good part of the rows";
  EXPECT_EQ(chosen(256, 1 << 20, seeding::plus_plus), seeding::plus_plus) << "whoever asks gets it";

  const auto data = clouds<float>(1 << 18, 1, 64, 40);
  kmeans::options options;
  options.clusters = 64;
  options.max_iterations = 2;
  const kmeans::fit_result automatic = kmeans::fit(data.view(), options);
  EXPECT_EQ(automatic.init, seeding::parallel);
  EXPECT_GT(automatic.seeding_seconds, 0);
  EXPECT_LT(automatic.seeding_seconds, automatic.seconds);
  options.init = seeding::parallel;
  EXPECT_EQ(kmeans::fit(data.view(), options).model.centroids, automatic.model.centroids);
}

TEST(KMeansFit, KnowsTheVariancesOfItsColumns) {
  const table<double> data{4, 3, {0, 5, 0.1, 2, 5, 0.1, 0, 5, 0.1, 2, 5, 0.1}};
  kmeans::options options;
  options.clusters = 1;
  EXPECT_EQ(kmeans::fit(data.view(), options).column_variances, (std::vector<double>{1, 0, 0}));
}

}  // namespace
