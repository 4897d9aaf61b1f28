// The rows that k-means++ chooses, by their places.
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/kmeans/choose_rows.hpp>
#include <shoal/kmeans/fit.hpp>
#include <shoal/kmeans/predict.hpp>

#include "kmeans_reference.hpp"

namespace {

namespace kmeans = shoal::kmeans;
using kmeans_reference::clouds;

kmeans::choice_options choosing(std::size_t clusters, std::size_t trials = 0, std::uint64_t seed = 5) {
  kmeans::choice_options options;
  options.clusters = clusters;
  options.seed = seed;
  options.trials = trials;
  options.threads = 2;
  return options;
}

template <class Scalar>
void expect_the_rows_of_a_fit() {
  for (const std::size_t clusters : {1, 2, 7, 40}) {
    const auto made = clouds<Scalar>(3001, 3, 5, 2.5);
    const shoal::view_source<Scalar> rows(made.view());
    kmeans::options options;
    options.clusters = clusters;
    options.seed = 5;
    options.max_iterations = 0;
    const std::vector<double> first = kmeans::fit(rows, options).model.centroids;
    const std::vector<std::size_t> chosen = kmeans::choose_rows(rows, choosing(clusters));
    ASSERT_EQ(chosen.size(), clusters);
    for (std::size_t k = 0; k < clusters; ++k) {
      for (std::size_t j = 0; j < made.columns; ++j) {
        EXPECT_EQ(first[k * made.columns + j], made.values[chosen[k] * made.columns + j]);
      }
    }
  }
}

TEST(ChooseRows, AreThoseThatAFitStartsFrom) {
  expect_the_rows_of_a_fit<float>();
  expect_the_rows_of_a_fit<double>();
}

TEST(ChooseRows, MoreTrialsLeaveRowsNearer) {
  const auto made = clouds<double>(2000, 2, 9, 40);
  const shoal::view_source<double> rows(made.view());
  const auto inertia_of = [&](std::size_t trials) {
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      kmeans::model model{9, 2, {}, {}};
      for (const std::size_t row : kmeans::choose_rows(rows, choosing(9, trials, seed))) {
        model.centroids.insert(model.centroids.end(), made.view().row(row), made.view().row(row) + 2);
      }
      sum += kmeans::predict(model, rows, nullptr);
    }
    return sum;
  };
  EXPECT_EQ(inertia_of(4), inertia_of(0));  // 2 + floor(ln 9)
  EXPECT_LT(inertia_of(20), 0.9 * inertia_of(1));
}

TEST(ChooseRows, NeverTakesRowsWithoutWeight) {
  const auto made = clouds<float>(500, 2, 5, 3);
  const shoal::view_source<float> rows(made.view());
  std::vector<float> weights(500, 0.0F);
  for (std::size_t i = 100; i < 110; ++i) weights[i] = 0.5F;
  const shoal::view_source<float> weight_rows({weights.data(), weights.size(), 1});
  const auto chosen = kmeans::choose_rows(rows, choosing(10), &weight_rows);
  EXPECT_EQ(std::set<std::size_t>(chosen.begin(), chosen.end()).size(), 10u);
  EXPECT_GE(*std::min_element(chosen.begin(), chosen.end()), 100u);
  EXPECT_LT(*std::max_element(chosen.begin(), chosen.end()), 110u);
}

TEST(ChooseRows, RefusesWhatItCannotDo) {
  const auto made = clouds<double>(20, 2, 2, 3);
  const shoal::view_source<double> rows(made.view());
  for (const std::size_t clusters : {0, 21}) {
    EXPECT_THROW(kmeans::choose_rows(rows, choosing(clusters)), shoal::bad_argument);
  }
}

}  // namespace
