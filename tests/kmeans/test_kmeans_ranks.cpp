// k-means on any number of ranks: fits, repairs, labels and distances to the bits of one process.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/result.hpp>

#include "../ranks.hpp"
#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;
using ranks::bits;

constexpr std::size_t many = 32001;  // 63 lanes

bits of(const kmeans::fit_result& result) {
  return bits() << result.model.centroids << result.inertia << result.history << result.iterations << result.relocated
                << result.cluster_weights << result.total_weight << result.bic;
}

template <class Scalar>
class KMeansOnRanks : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansOnRanks, scalars);

TYPED_TEST(KMeansOnRanks, FitsToTheSameBits) {
  const auto data = clouds<TypeParam>(many, 4, 5, 3);
  std::vector<TypeParam> weights(many);
  for (std::size_t i = 0; i < many; ++i) weights[i] = static_cast<TypeParam>(i % 5);
  const shoal::view_source<TypeParam> rows(data.view());
  const shoal::view_source<TypeParam> column({weights.data(), many, 1});
  for (const kmeans::seeding init : {kmeans::seeding::plus_plus, kmeans::seeding::parallel}) {
    kmeans::options options;
    options.clusters = 6;
    options.max_iterations = 4;
    options.init = init;
    options.restarts = init == kmeans::seeding::plus_plus ? 2 : 1;
    const bool weighted = init == kmeans::seeding::parallel;
    ranks::expect_same_bits([&](const shoal::fold_context& context) {
      const auto on = kmeans::make_backend<TypeParam>({}, {context, &rows, weighted ? &column : nullptr});
      return of(kmeans::fit(*on, options, {}));
    });
  }
}

TYPED_TEST(KMeansOnRanks, RepairsEmptyClustersWithTheSameRows) {
  const auto data = clouds<TypeParam>(many, 2, 5, 3);
  const shoal::view_source<TypeParam> rows(data.view());
  kmeans::options options;
  options.clusters = 5;
  options.max_iterations = 3;
  options.init = kmeans::seeding::centroids;
  options.centroids = {0, 0, 3, 3, 1e4, 1e4, -1e4, 1e4, 6, 6};
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    const auto on = kmeans::make_backend<TypeParam>({}, {context, &rows});
    const kmeans::fit_result result = kmeans::fit(*on, options, {});
    EXPECT_GE(result.relocated, 2u);
    return of(result);
  });
}

TYPED_TEST(KMeansOnRanks, LabelsAndMeasuresEachRowOnce) {
  const auto data = clouds<TypeParam>(many, 2, 5, 3);
  const shoal::view_source<TypeParam> rows(data.view());
  const kmeans::model model{3, 2, {0, 0, 3, 3, 9, 9}, {}};
  const auto alone = shoal::make_sequential();
  std::vector<std::int32_t> expected_labels(many);
  std::vector<TypeParam> expected_distances(many * 3);
  const auto one = kmeans::make_backend<TypeParam>({}, {{alone.get(), 0, {}}, &rows});
  const double expected = one->predict(model, expected_labels.data()).inertia;
  one->distances(model, expected_distances.data());
  for (const std::size_t count : ranks::numbers) {
    // One array for all ranks, each of which writes its own rows.
    std::vector<std::int32_t> labels(many, -1);
    std::vector<TypeParam> distances(many * 3, -1);
    const auto inertias = ranks::results(count, [&](const shoal::fold_context& context) {
      const auto on = kmeans::make_backend<TypeParam>({}, {context, &rows});
      const double inertia = on->predict(model, labels.data()).inertia;
      on->distances(model, distances.data());
      return inertia;
    });
    EXPECT_EQ(labels, expected_labels) << count << " ranks";
    EXPECT_EQ(distances, expected_distances) << count << " ranks";
    for (const double inertia : inertias) EXPECT_EQ(inertia, expected);
  }
}

TYPED_TEST(KMeansOnRanks, ChoosesTheSameRows) {
  const auto data = clouds<TypeParam>(many, 2, 5, 3);
  const shoal::view_source<TypeParam> rows(data.view());
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    return bits() << kmeans::make_backend<TypeParam>({}, {context, &rows})->choose_rows({7, 3, 0});
  });
}

}  // namespace
