// Labels, responsibilities and log-density of rows against the reference.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/parameters.hpp>

#include "kernel_checks.hpp"
#include "reference.hpp"

namespace {

using checks::all_types;
using shoal::gmm::covariance_type;

template <class Scalar>
class PredictRows : public testing::Test {};
using scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(PredictRows, scalars);

TYPED_TEST(PredictRows, EqualsTheReference) {
  const double tolerance = checks::kernel_tolerance<TypeParam>;
  for (const covariance_type type : all_types) {
    for (const std::size_t columns : {1, 4, 21, 89}) {
      for (const double spread : {0.5, 4.0}) {
        const std::size_t rows = 1021;
        const auto model = reference::random_model(type, 4, columns, spread, 61);
        auto values = reference::random_rows<TypeParam>(model, rows, columns + 1, 62);
        values[700 * (columns + 1)] = 5000;
        const shoal::matrix_view<const TypeParam> view(values.data(), rows, columns, columns + 1);
        const auto ready = shoal::gmm::prepare<TypeParam>(model);
        std::vector<std::int32_t> labels(rows);
        std::vector<TypeParam> probabilities(rows * 4);
        std::vector<TypeParam> log_density(rows);
        shoal::gmm::workspace<TypeParam> memory;
        shoal::gmm::score score;
        shoal::gmm::predict_rows<TypeParam>(ready, {view, nullptr, 0}, memory,
                                            {labels.data(), probabilities.data(), log_density.data()}, score);
        const reference::mixture mixture(model);
        double sum = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const auto expected = mixture.of(reference::row(view, r));
          sum += expected.log_density;
          ASSERT_NEAR(log_density[r], expected.log_density, 4 * tolerance * (1 + std::abs(expected.log_density)));
          double total = 0;
          for (std::size_t k = 0; k < 4; ++k) {
            ASSERT_NEAR(probabilities[r * 4 + k], expected.responsibilities[k], tolerance) << "row " << r;
            total += static_cast<double>(probabilities[r * 4 + k]);
          }
          ASSERT_NEAR(total, 1.0, sizeof(TypeParam) == 4 ? 1e-6 : 1e-14);
          const double best = expected.responsibilities[static_cast<std::size_t>(expected.label)];
          const double chosen = expected.responsibilities[static_cast<std::size_t>(labels[r])];
          ASSERT_GE(chosen, best - tolerance) << "row " << r;
        }
        EXPECT_NEAR(score.log_likelihood, sum, tolerance * (1000 + std::abs(sum)));
        EXPECT_EQ(score.weight, static_cast<double>(rows));
      }
    }
  }
}

TYPED_TEST(PredictRows, GivesTiesToTheLowestComponent) {
  shoal::gmm::model model;
  model.covariance_type = covariance_type::spherical;
  model.components = 3;
  model.columns = 1;
  model.weights = {0.25, 0.5, 0.25};
  model.means = {2, 0, 2};
  model.covariances = {1, 1, 1};
  const std::vector<TypeParam> rows = {2, 3, -1};
  const auto ready = shoal::gmm::prepare<TypeParam>(model);
  std::vector<std::int32_t> labels(3);
  shoal::gmm::workspace<TypeParam> memory;
  shoal::gmm::score score;
  shoal::gmm::predict_rows<TypeParam>(ready, {{rows.data(), 3, 1}, nullptr, 0}, memory,
                                      {labels.data(), nullptr, nullptr}, score);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 0, 1}));
}

// Pieces of any number of blocks write the same values and sum to the same bits.
TYPED_TEST(PredictRows, ScoresTheSameInPieces) {
  const auto model = reference::random_model(covariance_type::full, 3, 5, 1.0, 71);
  const std::size_t rows = 2000;
  const auto values = reference::random_rows<TypeParam>(model, rows, 5, 72);
  std::vector<TypeParam> weights(rows);
  std::iota(weights.begin(), weights.end(), TypeParam{1});
  const auto ready = shoal::gmm::prepare<TypeParam>(model);
  std::vector<shoal::gmm::score> scores;
  std::vector<std::vector<TypeParam>> densities;
  for (const std::size_t piece : {512, 1536, 2048}) {
    shoal::gmm::score score;
    std::vector<TypeParam> density(rows);
    const shoal::gmm::prediction_body<TypeParam> body{&ready, {nullptr, nullptr, density.data()}};
    shoal::gmm::workspace<TypeParam> memory;
    for (std::size_t first = 0; first < rows; first += piece) {
      const std::size_t count = std::min(piece, rows - first);
      body({{values.data() + 5 * first, count, 5}, weights.data() + first, first}, shoal::team_member(0, 0, 1, nullptr),
           memory, score);
    }
    scores.push_back(score);
    densities.push_back(density);
  }
  for (std::size_t i = 1; i < scores.size(); ++i) {
    EXPECT_EQ(scores[i].log_likelihood, scores[0].log_likelihood);
    EXPECT_EQ(scores[i].weight, scores[0].weight);
    EXPECT_EQ(densities[i], densities[0]);
  }
  EXPECT_EQ(scores[0].weight, 2000.0 * 2001 / 2);
}

}  // namespace
