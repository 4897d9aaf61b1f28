// The modelling error: by hand, against every match, and on mixtures whose components are renamed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/core/error.hpp>
#include <shoal/gmm/generate.hpp>
#include <shoal/gmm/modelling_error.hpp>
#include <shoal/gmm/sample.hpp>
#include <shoal/metrics/modelling_error.hpp>
#include <shoal/random/stream.hpp>

namespace {

using shoal::matrix_view;
namespace gmm = shoal::gmm;
namespace metrics = shoal::metrics;

metrics::modelling_error error_of(const std::vector<double>& desired, std::size_t desired_components,
                                  const std::vector<double>& found, std::size_t found_components) {
  const std::size_t rows = desired.size() / desired_components;
  metrics::membership_sums sums(desired_components, found_components);
  // In two pieces: sums of disjoint rows add up.
  const std::size_t first = rows / 3;
  const matrix_view<const double> p(desired.data(), rows, desired_components);
  const matrix_view<const double> q(found.data(), rows, found_components);
  metrics::add(sums, p.middle_rows(0, first), q.middle_rows(0, first));
  metrics::add(sums, p.middle_rows(first, rows - first), q.middle_rows(first, rows - first));
  return metrics::modelling_error_of(sums);
}

std::vector<double> random_memberships(std::size_t rows, std::size_t components, std::uint64_t seed) {
  shoal::random::stream random(seed, components);
  std::vector<double> out(rows * components);
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < components; ++k) sum += out[i * components + k] = -std::log(random.uniform());
    for (std::size_t k = 0; k < components; ++k) out[i * components + k] /= sum;
  }
  return out;
}

TEST(modelling_error, by_hand) {
  const auto same = error_of({1, 0, 0, 1}, 2, {0, 1, 1, 0}, 2);
  EXPECT_EQ(same.error, 0);
  EXPECT_EQ(same.match, (std::vector<std::size_t>{1, 0}));
  // One row of two on the wrong side: (2 + 0)/2 under either match.
  EXPECT_DOUBLE_EQ(error_of({1, 0, 0, 1}, 2, {1, 0, 1, 0}, 2).error, 1);
  EXPECT_DOUBLE_EQ(error_of({0.75, 0.25}, 2, {0.5, 0.5}, 2).error, 0.125);
}

TEST(modelling_error, components_without_a_match_count_against_zero) {
  const auto fewer = error_of({0.5, 0.25, 0.25}, 3, {1}, 1);
  EXPECT_DOUBLE_EQ(fewer.error, 0.25 + 0.0625 + 0.0625);
  EXPECT_EQ(fewer.match, (std::vector<std::size_t>{0, shoal::assignment::unassigned, shoal::assignment::unassigned}));
  EXPECT_DOUBLE_EQ(error_of({1}, 1, {0.5, 0.25, 0.25}, 3).error, 0.25 + 0.0625 + 0.0625);
}

TEST(modelling_error, nothing_was_added) {
  const metrics::membership_sums none(2, 2);
  EXPECT_EQ(metrics::modelling_error_of(none).error, 0);
}

TEST(modelling_error, is_that_of_the_best_of_all_matches) {
  constexpr std::size_t rows = 60, components = 5;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<double> p = random_memberships(rows, components, 2 * seed);
    const std::vector<double> q = random_memberships(rows, components, 2 * seed + 1);
    std::vector<std::size_t> match(components);
    std::iota(match.begin(), match.end(), std::size_t{0});
    double least = 2;
    std::vector<std::size_t> best;
    do {
      double sum = 0;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < components; ++k)
          sum += std::pow(p[i * components + k] - q[i * components + match[k]], 2);
      if (sum / rows < least) {
        least = sum / rows;
        best = match;
      }
    } while (std::next_permutation(match.begin(), match.end()));
    const auto found = error_of(p, components, q, components);
    EXPECT_NEAR(found.error, least, 1e-14);
    EXPECT_EQ(found.match, best);
  }
}

TEST(modelling_error, refuses_memberships_of_other_sizes) {
  metrics::membership_sums sums(2, 2);
  const std::vector<double> values(6, 0.5);
  EXPECT_THROW(metrics::add(sums, {values.data(), 3, 2}, {values.data(), 2, 2}), shoal::bad_argument);
  EXPECT_THROW(metrics::add(sums, {values.data(), 2, 3}, {values.data(), 2, 2}), shoal::bad_argument);
}

// Components in another order are the same mixture; a mixture that was bent is not, and bending it more is worse.
template <class Scalar>
void expect_error_of_models() {
  gmm::generator_options options;
  options.components = 4;
  options.columns = 3;
  options.mean_scale = 4;
  options.seed = 11;
  const gmm::model truth = gmm::generate_model(options);
  constexpr std::size_t rows = 70'001;  // more than a piece
  std::vector<Scalar> values(rows * options.columns);
  gmm::sample(truth, 5, 0, matrix_view<Scalar>(values.data(), rows, options.columns), nullptr);
  const matrix_view<const Scalar> view(values.data(), rows, options.columns);

  gmm::model renamed = truth;
  std::rotate(renamed.weights.begin(), renamed.weights.begin() + 1, renamed.weights.end());
  std::rotate(renamed.means.begin(), renamed.means.begin() + 3, renamed.means.end());
  std::rotate(renamed.covariances.begin(), renamed.covariances.begin() + 9, renamed.covariances.end());
  const auto same = gmm::modelling_error(truth, renamed, view);
  EXPECT_LT(same.error, 1e-12);
  EXPECT_EQ(same.match, (std::vector<std::size_t>{3, 0, 1, 2}));

  double previous = 1e-9;
  for (const double shift : {0.1, 0.4, 1.6}) {
    gmm::model bent = renamed;
    bent.means[0] += shift;
    const double error = gmm::modelling_error(truth, bent, view).error;
    EXPECT_GT(error, 3 * previous) << shift;
    EXPECT_LT(error, 2);
    previous = error;
  }
}

TEST(modelling_error, of_mixtures) {
  expect_error_of_models<double>();
  expect_error_of_models<float>();
}

}  // namespace
