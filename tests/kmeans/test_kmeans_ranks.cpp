// k-means on any number of ranks: fits, repairs, labels and distances to the bits of one process.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/kmeans/backend.hpp>
#include <shoal/kmeans/backend_fit.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>
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

// By the door: rank 0 alone reports and has the checkpoint, from which any number of ranks goes on.
TEST(KMeansOnRanksByTheDoor, ResumesOnAnyNumberOfRanksAndReportsOnce) {
  const auto data = clouds<float>(many, 3, 5, 4);
  const shoal::view_source<float> rows(data.view());
  const std::string file = testing::TempDir() + "/kmeans_ranks_checkpoint";
  std::filesystem::remove(file);
  kmeans::options options;
  options.clusters = 6;
  options.max_iterations = 9;
  options.tolerance = 0;
  options.threads = 1;
  const bits expected = of(kmeans::fit(rows, options));
  options.checkpoint = file;
  options.checkpoint_seconds = 0;
  const auto on_ranks = [&](std::size_t count, int steps) {
    std::vector<bits> all(count);
    std::atomic<int> from_others = 0;
    shoal::run_ranks(count, [&](shoal::communicator& own) {
      std::stop_source stop;
      int reported = 0;
      const shoal::control control{[&](const shoal::progress& now) {
                                     if (own.rank() != 0) ++from_others;
                                     if (now.phase == "kmeans" && ++reported == steps) stop.request_stop();
                                   },
                                   stop.get_token(), &own};
      all[own.rank()] = of(kmeans::fit(rows, options, {}, control));
    });
    EXPECT_EQ(from_others, 0);
    return all;
  };
  // Rank 0 alone is asked to stop, and all others end as it does.
  EXPECT_THROW(on_ranks(3, 2), shoal::interrupted);
  EXPECT_THROW(on_ranks(2, 2), shoal::interrupted);
  EXPECT_THROW(on_ranks(1, 2), shoal::interrupted);
  for (const std::size_t count : {7, 1, 2}) {
    for (const bits& found : on_ranks(count, -1)) EXPECT_TRUE(found == expected) << count;
  }
  std::filesystem::remove(file);
}

TEST(KMeansOnRanksByTheDoor, SaysWhichRowsItHasPredicted) {
  const auto data = clouds<float>(many, 2, 5, 3);
  const shoal::view_source<float> rows(data.view());
  kmeans::model model{400, 2, {}, {}};  // of so many clusters that there are fewer lanes
  for (int k = 0; k < 400; ++k) model.centroids.insert(model.centroids.end(), {k * 0.01, k * 0.02});
  for (const std::size_t count : ranks::numbers) {
    std::vector<std::size_t> ends(count);
    shoal::run_ranks(count, [&](shoal::communicator& own) {
      std::vector<std::int32_t> labels(many, -1);
      kmeans::predict(model, rows, labels.data(), 1, 0, {}, {.ranks = &own});
      const shoal::row_range mine = kmeans::predicted_rows(model, many, sizeof(float), &own);
      for (std::size_t i = 0; i < many; ++i) {
        ASSERT_EQ(labels[i] >= 0, i >= mine.first && i < mine.end) << "row " << i << " on rank " << own.rank();
      }
      ends[own.rank()] = mine.end - mine.first;
    });
    std::size_t all = 0;
    for (const std::size_t rows_of_one : ends) all += rows_of_one;
    EXPECT_EQ(all, many);
  }
}

}  // namespace
