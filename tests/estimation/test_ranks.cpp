// What every fit is prepared with, on ranks: checks of the data, their refusals, and seeding.
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding.hpp>

#include "../kmeans/kmeans_reference.hpp"
#include "../ranks.hpp"

namespace {

using kmeans_reference::clouds;
using kmeans_reference::table;
using ranks::bits;

constexpr std::size_t many = 32001;  // 63 lanes

std::vector<float> some_weights(std::size_t rows) {
  std::vector<float> weights(rows);
  for (std::size_t i = 0; i < rows; ++i) weights[i] = static_cast<float>(i % 7) * 0.25F;
  return weights;
}

TEST(RanksOfAFit, CheckTheirData) {
  const table<float> data = clouds<float>(many, 3, 5, 4);
  const auto weights = some_weights(many);
  const shoal::view_source<float> rows(data.view());
  const shoal::view_source<float> column({weights.data(), many, 1});
  for (const bool weighted : {false, true}) {
    ranks::expect_same_bits([&](const shoal::fold_context& context) {
      const auto summary = shoal::check_data<float>(context, rows, weighted ? &column : nullptr, true);
      return bits() << summary.mean << summary.variance << summary.minimum << summary.maximum << summary.total_weight
                    << summary.largest_weight << summary.rows << summary.positive_rows
                    << static_cast<std::size_t>(summary.fingerprint);
    });
  }
}

TEST(RanksOfAFit, AllRefuseTheSameRow) {
  table<float> data = clouds<float>(many, 3, 5, 4);
  data.values[20000 * 3 + 1] = std::numeric_limits<float>::quiet_NaN();
  auto weights = some_weights(many);
  weights[31000] = -1;
  const shoal::view_source<float> rows(data.view());
  const shoal::view_source<float> column({weights.data(), many, 1});
  for (const shoal::row_source<float>* weighted :
       {static_cast<const shoal::row_source<float>*>(nullptr), static_cast<const shoal::row_source<float>*>(&column)}) {
    for (const std::string& said : ranks::results(7, [&](const shoal::fold_context& context) -> std::string {
           try {
             shoal::check_data<float>(context, rows, weighted);
           } catch (const shoal::bad_data& refused) {
             return refused.what();
           }
           return {};
         })) {
      EXPECT_EQ(said.find(weighted == nullptr ? "row 20000, column 1" : "the weight of row 31000"), 0u) << said;
    }
  }
}

template <class Scalar>
std::vector<double> seeded(const shoal::fold_context& context, const table<Scalar>& data,
                           const shoal::row_source<Scalar>* weights, int method, std::size_t clusters) {
  const shoal::view_source<Scalar> rows(data.view());
  const auto summary = shoal::check_data<Scalar>(context, rows, weights);
  const shoal::scaled_rows<Scalar> scaled(rows, weights, summary);
  const shoal::seeding_request request{clusters, 5, 1};
  if (method == 0) return shoal::seed_random_rows(context, scaled.data(), summary, request);
  if (method == 1) return shoal::seed_plus_plus(context, scaled.data(), summary, request);
  return shoal::seed_parallel(context, scaled.data(), summary, request);
}

class SeedingOnRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, SeedingOnRanks, testing::Values(0, 1, 2));

TEST_P(SeedingOnRanks, ChoosesTheSameRows) {
  const auto weights = some_weights(many);
  const shoal::view_source<float> column({weights.data(), many, 1});
  const table<float> data = clouds<float>(many, 3, 5, 4);
  for (const bool weighted : {false, true}) {
    ranks::expect_same_bits([&](const shoal::fold_context& context) {
      return bits() << seeded<float>(context, data, weighted ? &column : nullptr, GetParam(), 6);
    });
  }
}

TEST_P(SeedingOnRanks, ChoosesTheSameRowsInFloat64) {
  const table<double> data = clouds<double>(9001, 3, 5, 4, 1e6);
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    return bits() << seeded<double>(context, data, nullptr, GetParam(), 6);
  });
}

// Weights by point take more bytes than the rows, so that their fold has other lanes than the passes before.
TEST_P(SeedingOnRanks, ChoosesTheSameRowsWhereFoldsHaveOtherLanes) {
  const table<float> data = clouds<float>(many, 1, 900, 8);
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    return bits() << seeded<float>(context, data, nullptr, GetParam(), GetParam() == 1 ? 20 : 150);
  });
}

TEST_P(SeedingOnRanks, ChoosesTheSameRowsWhenTheyRunOut) {
  const table<float> data = clouds<float>(3, 2, 3, 4);
  ranks::expect_same_bits([&](const shoal::fold_context& context) {
    return bits() << seeded<float>(context, data, nullptr, GetParam(), 6);
  });
}

}  // namespace
