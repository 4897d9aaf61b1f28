// Costs of many kinds, and what every exact result must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/assignment/assignment.hpp>
#include <shoal/random/stream.hpp>

namespace cost_matrices {

namespace assignment = shoal::assignment;
using assignment::unassigned;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct cost_matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> values;

  shoal::matrix_view<const double> view() const { return {values.data(), rows, columns}; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

inline cost_matrix transposed(const cost_matrix& costs) {
  cost_matrix out{costs.columns, costs.rows, {}};
  for (std::size_t j = 0; j < costs.columns; ++j)
    for (std::size_t i = 0; i < costs.rows; ++i) out.values.push_back(costs(i, j));
  return out;
}

enum class kind {
  exponential,
  few_whole,
  many_whole,
  forbidden,
  equal,
  negative,
  geometric,
  products,
  rank_one,
  powers,
  shifted
};
constexpr kind all_kinds[] = {kind::exponential, kind::few_whole, kind::many_whole, kind::forbidden,
                              kind::equal,       kind::negative,  kind::geometric,  kind::products,
                              kind::rank_one,    kind::powers,    kind::shifted};

inline cost_matrix make(kind kind, std::size_t rows, std::size_t columns, std::uint64_t seed) {
  cost_matrix out{rows, columns, {}};
  shoal::random::stream random(seed, static_cast<std::uint64_t>(kind));
  std::vector<double> across(2 * rows), along(2 * columns);
  for (double& value : across) value = random.uniform();
  for (double& value : along) value = random.uniform();
  for (std::size_t n = 0; n < rows * columns; ++n) {
    const std::size_t i = n / columns, j = n % columns;
    const double u = random.uniform();
    switch (kind) {
      case kind::exponential:
        out.values.push_back(-std::log1p(-u));
        break;
      case kind::few_whole:
        out.values.push_back(std::floor(4 * u));
        break;
      case kind::many_whole:
        out.values.push_back(std::floor(1000 * u) - 300);
        break;
      case kind::forbidden:
        out.values.push_back(u < 0.6 ? infinity : 10 * u);
        break;
      case kind::equal:
        out.values.push_back(2.5);
        break;
      case kind::negative:
        out.values.push_back(-1e6 * u);
        break;
      case kind::geometric:
        out.values.push_back(std::hypot(across[i] - along[j], across[rows + i] - along[columns + j]));
        break;
      case kind::products:  // Machol & Wien
        out.values.push_back(static_cast<double>((i + 1) * (j + 1)));
        break;
      case kind::rank_one:
        out.values.push_back(across[i] * along[j]);
        break;
      case kind::powers:
        out.values.push_back(std::exp2(std::floor(40 * u)));
        break;
      case kind::shifted:
        out.values.push_back(u + 10 * across[i] + 10 * along[j]);
        break;
    }
  }
  return out;
}

// The least cost of all assignments of at most seven rows, one by one; +∞ when each needs a forbidden pair.
inline double by_enumeration(const cost_matrix& costs, std::size_t row, std::vector<bool>& taken) {
  if (row == costs.rows) return 0;
  double least = infinity;
  for (std::size_t j = 0; j < costs.columns; ++j) {
    if (taken[j]) continue;
    taken[j] = true;
    least = std::min(least, costs(row, j) + by_enumeration(costs, row + 1, taken));
    taken[j] = false;
  }
  return least;
}

inline double by_enumeration(const cost_matrix& costs) {
  if (costs.rows > costs.columns) return by_enumeration(transposed(costs));
  std::vector<bool> taken(costs.columns, false);
  return by_enumeration(costs, 0, taken);
}

inline double largest_finite(const cost_matrix& costs) {
  double largest = 0;
  for (const double cost : costs.values)
    if (std::isfinite(cost)) largest = std::max(largest, std::abs(cost));
  return largest;
}

// The two maps are one matching of the smaller side, and the potentials prove that no other costs less.
inline void expect_proven(const cost_matrix& costs, const assignment::solution& found) {
  ASSERT_TRUE(found.feasible);
  EXPECT_TRUE(found.certified);
  ASSERT_EQ(found.column_of_row.size(), costs.rows);
  ASSERT_EQ(found.row_of_column.size(), costs.columns);
  ASSERT_EQ(found.row_potentials.size(), costs.rows);
  ASSERT_EQ(found.column_potentials.size(), costs.columns);
  EXPECT_TRUE(found.conflicting_rows.empty() && found.conflicting_columns.empty());
  // Each potential is a sum of differences of costs, each rounded once.
  const double slack = 1e-15 * largest_finite(costs) * static_cast<double>(costs.rows + costs.columns);
  std::size_t pairs = 0;
  double cost = 0;
  for (std::size_t i = 0; i < costs.rows; ++i) {
    const std::size_t j = found.column_of_row[i];
    if (j == unassigned) {
      EXPECT_EQ(found.row_potentials[i], 0) << "row " << i;
      continue;
    }
    ASSERT_LT(j, costs.columns);
    EXPECT_EQ(found.row_of_column[j], i);
    EXPECT_NEAR(found.row_potentials[i] + found.column_potentials[j], costs(i, j), slack);
    cost += costs(i, j);
    ++pairs;
  }
  EXPECT_EQ(pairs, std::min(costs.rows, costs.columns));
  EXPECT_EQ(static_cast<std::size_t>(std::count(found.row_of_column.begin(), found.row_of_column.end(), unassigned)),
            costs.columns - pairs);
  EXPECT_EQ(found.cost, cost);
  double dual = 0;
  for (std::size_t j = 0; j < costs.columns; ++j) {
    if (found.row_of_column[j] == unassigned) {
      EXPECT_EQ(found.column_potentials[j], 0) << "column " << j;
    }
    if (costs.rows <= costs.columns) {
      EXPECT_LE(found.column_potentials[j], 0);
    }
    dual += found.column_potentials[j];
  }
  for (std::size_t i = 0; i < costs.rows; ++i) {
    if (costs.rows > costs.columns) {
      EXPECT_LE(found.row_potentials[i], 0);
    }
    dual += found.row_potentials[i];
    for (std::size_t j = 0; j < costs.columns; ++j)
      ASSERT_LE(found.row_potentials[i] + found.column_potentials[j], costs(i, j) + slack) << i << ", " << j;
  }
  EXPECT_NEAR(dual, found.cost, slack * static_cast<double>(pairs));
}

// The conflict proves it: one side has no allowed pair outside the other, which is one smaller.
inline void expect_infeasible(const cost_matrix& costs, const assignment::solution& found) {
  ASSERT_FALSE(found.feasible);
  EXPECT_TRUE(found.certified);
  EXPECT_EQ(found.cost, infinity);
  EXPECT_TRUE(found.column_of_row.empty() && found.row_of_column.empty());
  EXPECT_TRUE(found.row_potentials.empty() && found.column_potentials.empty());
  if (costs.rows > costs.columns) {
    assignment::solution turned = found;
    std::swap(turned.conflicting_rows, turned.conflicting_columns);
    return expect_infeasible(transposed(costs), turned);
  }
  const std::set<std::size_t> rows(found.conflicting_rows.begin(), found.conflicting_rows.end());
  const std::set<std::size_t> columns(found.conflicting_columns.begin(), found.conflicting_columns.end());
  EXPECT_EQ(rows.size(), columns.size() + 1);
  EXPECT_EQ(rows.size(), found.conflicting_rows.size());
  for (const std::size_t i : rows)
    for (std::size_t j = 0; j < costs.columns; ++j)
      if (!columns.contains(j)) {
        EXPECT_EQ(costs(i, j), infinity) << i << ", " << j;
      }
}

inline void expect_right(const cost_matrix& costs, const assignment::solution& found) {
  if (found.feasible) {
    expect_proven(costs, found);
  } else {
    expect_infeasible(costs, found);
  }
}

}  // namespace cost_matrices
