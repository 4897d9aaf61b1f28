// What the kernel tests share: running a fold's body, and comparing its statistics with the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/gmm/accumulate.hpp>
#include <shoal/gmm/parameters.hpp>

#include "reference.hpp"

namespace checks {

using shoal::gmm::covariance_type;

inline constexpr covariance_type all_types[] = {covariance_type::full, covariance_type::tied, covariance_type::diag,
                                                covariance_type::spherical};

inline std::string name(covariance_type type) {
  switch (type) {
    case covariance_type::full:
      return "full";
    case covariance_type::tied:
      return "tied";
    case covariance_type::diag:
      return "diag";
    default:
      return "spherical";
  }
}

// The statistics of the rows, given to the body in pieces of `piece` rows, by one team of `team` threads.
template <class Scalar>
shoal::gmm::statistics accumulate(const shoal::gmm::parameters<Scalar>& components,
                                  shoal::matrix_view<const Scalar> rows, const Scalar* weights = nullptr,
                                  std::size_t piece = 4096, std::size_t team = 1,
                                  const shoal::gmm::responsibilities_function<Scalar>* given = nullptr) {
  shoal::gmm::statistics sums(
      shoal::gmm::statistics_layout(components.covariance_type, components.components, components.columns));
  const shoal::gmm::accumulation<Scalar> body{&components, given};
  shoal::gmm::workspace<Scalar> memory;
  shoal::team_barrier barrier(team);
  const auto member = [&](std::size_t rank) {
    for (std::size_t first = 0; first < rows.rows(); first += piece) {
      const shoal::row_block<Scalar> block{rows.middle_rows(first, std::min(piece, rows.rows() - first)),
                                           weights == nullptr ? nullptr : weights + first, first};
      body(block, shoal::team_member(0, rank, team, &barrier), memory, sums);
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t rank = 1; rank < team; ++rank) threads.emplace_back(member, rank);
  member(0);
  return sums;
}

// Every sum within `tolerance` of the reference, relative to the largest that the sum could be: the weight and second
// moments of the whole data.
inline void expect_close(const shoal::gmm::statistics& got, const shoal::gmm::statistics& expected, double tolerance,
                         const std::string& what) {
  const shoal::gmm::statistics_layout& layout = expected.layout();
  const double total = std::max(1.0, expected.total_weight());
  EXPECT_NEAR(got.total_weight(), expected.total_weight(), 1e-12 * total) << what;
  EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(),
              tolerance * (total + std::abs(expected.log_likelihood())))
      << what;
  double largest = 1;
  for (std::size_t k = 0; k < layout.components(); ++k) {
    for (std::size_t i = 0; i < layout.columns(); ++i) largest = std::max(largest, expected.second(k, i, i) / total);
  }
  for (std::size_t k = 0; k < layout.components(); ++k) {
    ASSERT_NEAR(got.weight(k), expected.weight(k), tolerance * total) << what << ", weight of component " << k;
    for (std::size_t i = 0; i < layout.columns(); ++i) {
      ASSERT_NEAR(got.first(k, i), expected.first(k, i), tolerance * total * std::sqrt(largest))
          << what << ", first moment of component " << k << ", column " << i;
      for (std::size_t j = i; j < (layout.has_matrices() ? layout.columns() : i + 1); ++j) {
        ASSERT_NEAR(got.second(k, i, j), expected.second(k, i, j), tolerance * total * largest)
            << what << ", second moment of component " << k << ", columns " << i << " and " << j;
      }
    }
  }
}

// Rows of thin components, some of which weigh nothing and lie where float64 has no density left.
struct weightless_rows {
  shoal::gmm::model model;
  std::vector<double> rows, weights;

  weightless_rows(covariance_type type, std::size_t count, std::size_t columns, std::size_t components)
      : model(reference::random_model(type, components, columns, 0.5, 3)),
        rows(reference::random_rows<double>(model, count, columns, 4)),
        weights(count, 1.0) {
    for (auto* const values : {&rows, &model.means}) {
      for (double& value : *values) value = std::ldexp(value, -100);
    }
    for (double& value : model.covariances) value = std::ldexp(value, -200);
    for (std::size_t r = 0; r < count; ++r) {
      if (r % 7 != 3) {
        weights[r] += 0.1 * static_cast<double>(r % 5);
        continue;
      }
      weights[r] = 0;
      rows[r * columns] = 1e140;
      rows[r * columns + columns - 1] = -1e139;
    }
  }

  // What only the rows that weigh something sum to.
  void expect(const shoal::gmm::statistics& got) const {
    for (const double value : got.values()) ASSERT_TRUE(std::isfinite(value));
    const std::size_t d = model.columns;
    std::vector<double> others, of_others;
    for (std::size_t r = 0; r < weights.size(); ++r) {
      if (weights[r] == 0) continue;
      others.insert(others.end(), rows.begin() + static_cast<std::ptrdiff_t>(r * d),
                    rows.begin() + static_cast<std::ptrdiff_t>((r + 1) * d));
      of_others.push_back(weights[r]);
    }
    const shoal::gmm::statistics expected = reference::accumulate<double>(
        model, shoal::gmm::prepare<double>(model).centres, {others.data(), of_others.size(), d}, of_others.data());
    EXPECT_NEAR(got.total_weight(), expected.total_weight(), 1e-12 * expected.total_weight());
    EXPECT_NEAR(got.log_likelihood(), expected.log_likelihood(), 1e-11 * std::abs(expected.log_likelihood()));
    for (std::size_t k = 0; k < model.components; ++k) {
      EXPECT_NEAR(got.weight(k), expected.weight(k), 1e-9 * expected.total_weight());
      for (std::size_t j = 0; j < d; ++j) {
        EXPECT_NEAR(got.first(k, j), expected.first(k, j), std::ldexp(1e-8 * expected.total_weight(), -100));
      }
    }
  }
};

// Of a spherical component's second moments only the sum over the columns means something.
inline shoal::gmm::statistics comparable(shoal::gmm::statistics sums) {
  const shoal::gmm::statistics_layout& layout = sums.layout();
  if (layout.type() != covariance_type::spherical) return sums;
  for (std::size_t k = 0; k < layout.components(); ++k) {
    double all = 0;
    for (std::size_t j = 0; j < layout.columns(); ++j) all += sums.second(k, j, j);
    for (std::size_t j = 0; j < layout.columns(); ++j) {
      sums.values()[layout.second(k, j, j)] = all / static_cast<double>(layout.columns());
    }
  }
  return sums;
}

inline void expect_same_bits(const shoal::gmm::statistics& got, const shoal::gmm::statistics& expected,
                             const std::string& what) {
  ASSERT_EQ(got.values().size(), expected.values().size());
  for (std::size_t i = 0; i < got.values().size(); ++i) {
    ASSERT_EQ(got.values()[i], expected.values()[i]) << what << ", sum " << i;
  }
}

template <class Scalar>
inline constexpr double kernel_tolerance = sizeof(Scalar) == 4 ? 3e-5 : 1e-12;

// Of the Q of spherical covariances only the sum over the columns counts.
inline shoal::gmm::statistics with_traces(shoal::gmm::statistics sums) {
  const shoal::gmm::statistics_layout& layout = sums.layout();
  if (layout.type() != covariance_type::spherical) return sums;
  for (std::size_t k = 0; k < layout.components(); ++k) {
    for (std::size_t j = 1; j < layout.columns(); ++j) {
      sums.values()[layout.second(k, 0, 0)] += sums.second(k, j, j);
      sums.values()[layout.second(k, j, j)] = 0;
    }
  }
  return sums;
}

}  // namespace checks
