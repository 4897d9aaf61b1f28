// Every method: against all others, against each other's definition, and what it refuses.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/assignment/hungarian.hpp>
#include <shoal/core/error.hpp>

#include "cost_matrices.hpp"

namespace {

using namespace cost_matrices;
using assignment::method;

const cost_matrix tied{6, 6, {62, 31, 79, 6,   21, 37, 45, 27, 23, 66, 9,  17, 83, 59, 25, 38, 63,  25,
                              1,  37, 53, 100, 80, 51, 69, 72, 74, 32, 82, 31, 34, 95, 61, 64, 100, 82}};

double cost_by(const cost_matrix& costs, method by) { return assignment::solve(costs.view(), {.method = by}).cost; }

TEST(methods, of_the_matrix_with_ties) {
  for (const method exact : {method::automatic, method::hungarian, method::auction, method::brute_force}) {
    EXPECT_EQ(cost_by(tied, exact), 142);
    EXPECT_EQ(assignment::solve(tied.view(), {.method = exact, .maximise = true}).cost, 462);
  }
  const double naive = cost_by(tied, method::greedy_naive);
  EXPECT_TRUE(naive == 174 || naive == 167) << naive;
  EXPECT_EQ(cost_by(tied, method::greedy), naive);
  EXPECT_EQ(cost_by(tied, method::greedy_paths), 167);
  EXPECT_EQ(assignment::solve(tied.view(), {.method = method::greedy_paths, .paths = 1}).cost, naive);
}

TEST(methods, all_exact_ones_agree_with_brute_force) {
  for (const kind kind : all_kinds)
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const cost_matrix costs = make(kind, 1 + seed, seed == 7 ? 9 : 1 + (seed * 5) % 8, seed);
      const assignment::solution all = assignment::solve(costs.view(), {.method = method::brute_force});
      EXPECT_FALSE(all.certified);
      for (const method exact : {method::automatic, method::hungarian, method::auction}) {
        SCOPED_TRACE(testing::Message() << assignment::method_name(exact) << " of " << costs.rows << " x "
                                        << costs.columns << ", kind " << static_cast<int>(kind) << ", seed " << seed);
        const assignment::solution found = assignment::solve(costs.view(), {.method = exact});
        ASSERT_EQ(found.feasible, all.feasible);
        expect_right(costs, found);
        if (all.feasible) {
          EXPECT_NEAR(found.cost, all.cost, 1e-14 * (1 + 9 * largest_finite(costs)));
        }
      }
    }
}

TEST(methods, slower_exact_ones_prove_themselves_at_larger_sizes) {
  for (const kind kind : all_kinds)
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{70, 70}, {30, 60}, {60, 30}}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", kind " << static_cast<int>(kind));
      const cost_matrix costs = make(kind, rows, columns, 3);
      for (const method exact : {method::hungarian, method::auction}) {
        expect_right(costs, assignment::solve(costs.view(), {.method = exact}));
      }
    }
}

// A cost that stands for "never" lifts an auction's prices until they have no digits left for the others.
TEST(methods, exact_ones_see_small_costs_beside_huge_ones) {
  for (const double huge : {1e9, 1e20, 1e30, 1e200})
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{40, 40}, {40, 50}, {50, 40}}) {
      cost_matrix costs = make(kind::exponential, rows, columns, 7);
      for (std::size_t n = 0; n < costs.values.size(); n += 3) costs.values[n] = huge;
      cost_matrix allowed = costs;
      for (double& cost : allowed.values)
        if (cost == huge) cost = infinity;
      const assignment::solution best = assignment::solve(allowed.view());
      ASSERT_TRUE(best.feasible);
      for (const method exact : {method::automatic, method::hungarian, method::auction}) {
        SCOPED_TRACE(testing::Message() << assignment::method_name(exact) << " of " << rows << " x " << columns
                                        << " beside " << huge);
        const assignment::solution found = assignment::solve(costs.view(), {.method = exact});
        EXPECT_TRUE(found.certified);
        EXPECT_EQ(found.column_of_row, best.column_of_row);
      }
    }
}

TEST(methods, greedy_ones_take_the_same_pairs) {
  for (const kind kind : all_kinds) {
    if (kind == kind::forbidden) continue;
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{1, 1}, {9, 9}, {150, 151}, {160, 90}}) {
      const cost_matrix costs = make(kind, rows, columns, 11);
      EXPECT_EQ(assignment::solve(costs.view(), {.method = method::greedy}).column_of_row,
                assignment::solve(costs.view(), {.method = method::greedy_naive}).column_of_row)
          << rows << " x " << columns << ", kind " << static_cast<int>(kind);
    }
  }
}

// H_m − H_{m−n} for exp(1) costs, and n for pairs drawn at random.
TEST(methods, mean_costs_of_exponential_costs) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{50, 50}, {20, 50}}) {
    double harmonic = 0;
    for (std::size_t k = columns - rows + 1; k <= columns; ++k) harmonic += 1 / static_cast<double>(k);
    for (const auto& [by, expected] :
         {std::pair<method, double>{method::greedy, harmonic}, {method::random, static_cast<double>(rows)}}) {
      constexpr std::size_t problems = 300;
      double sum = 0, squares = 0;
      for (std::uint64_t seed = 0; seed < problems; ++seed) {
        const double cost =
            assignment::solve(make(kind::exponential, rows, columns, seed).view(), {.method = by, .seed = seed}).cost;
        sum += cost;
        squares += cost * cost;
      }
      const double mean = sum / problems;
      EXPECT_NEAR(mean, expected, 4 * std::sqrt((squares / problems - mean * mean) / problems));
    }
  }
}

TEST(methods, random_pairs_are_an_assignment_that_the_seed_names) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{8, 8}, {3, 8}, {8, 3}}) {
    const cost_matrix costs = make(kind::exponential, rows, columns, 1);
    const auto draw = [&](std::uint64_t seed) {
      return assignment::solve(costs.view(), {.method = method::random, .seed = seed});
    };
    const assignment::solution one = draw(5);
    EXPECT_EQ(one.column_of_row, draw(5).column_of_row);
    EXPECT_NE(one.column_of_row, draw(6).column_of_row);
    for (std::size_t j = 0; j < columns; ++j)
      if (one.row_of_column[j] != unassigned) {
        EXPECT_EQ(one.column_of_row[one.row_of_column[j]], j);
      }
    EXPECT_EQ(static_cast<std::size_t>(std::count(one.column_of_row.begin(), one.column_of_row.end(), unassigned)),
              rows - std::min(rows, columns));
  }
}

TEST(methods, hungarian_steps_keep_what_covers_and_marks_mean) {
  std::size_t steps = 0;
  const assignment::solution found = assignment::hungarian(tied.view(), [&](const assignment::hungarian_step& step) {
    ++steps;
    for (std::size_t i = 0; i < 6; ++i) {
      if (step.starred[i] != unassigned) {
        EXPECT_EQ(step.reduced(i, step.starred[i]), 0);
      }
      if (step.primed[i] != unassigned) {
        EXPECT_EQ(step.reduced(i, step.primed[i]), 0);
      }
      for (std::size_t j = 0; j < 6; ++j) EXPECT_GE(step.reduced(i, j), 0);
    }
  });
  EXPECT_EQ(found.cost, 142);
  EXPECT_GT(steps, 6u);
}

TEST(methods, no_result_depends_on_the_threads) {
  const cost_matrix costs = make(kind::geometric, 90, 90, 2);
  const assignment::solution one = assignment::solve(costs.view(), {.method = method::auction, .threads = 1});
  const assignment::solution three = assignment::solve(costs.view(), {.method = method::auction, .threads = 3});
  EXPECT_EQ(one.column_of_row, three.column_of_row);
  EXPECT_EQ(one.column_potentials, three.column_potentials);
}

TEST(methods, batches_are_single_problems) {
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{5, 7}, {7, 5}, {16, 16}, {9, 3}}) {
    for (const bool maximise : {false, true}) {
      std::vector<double> many;
      std::vector<cost_matrix> each;
      for (std::uint64_t seed = 0; seed < 150; ++seed) {
        each.push_back(make(all_kinds[seed % std::size(all_kinds)], rows, columns, seed));
        many.insert(many.end(), each.back().values.begin(), each.back().values.end());
      }
      const assignment::batch_solution found =
          assignment::solve_batch(many, rows, columns, {.maximise = maximise, .threads = 3});
      ASSERT_EQ(found.problems, 150u);
      for (std::size_t n = 0; n < 150; ++n) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", problem " << n);
        const assignment::solution one = assignment::solve(each[n].view(), {.maximise = maximise});
        EXPECT_EQ(found.feasible[n] != 0, one.feasible);
        EXPECT_EQ(found.cost[n], one.cost);
        EXPECT_TRUE(found.certified[n]);
        for (std::size_t i = 0; i < rows; ++i) {
          EXPECT_EQ(found.column_of_row[n * rows + i], one.feasible ? one.column_of_row[i] : unassigned);
          if (one.feasible) {
            EXPECT_EQ(found.row_potentials[n * rows + i], one.row_potentials[i]);
          }
        }
        for (std::size_t j = 0; j < columns; ++j) {
          EXPECT_EQ(found.row_of_column[n * columns + j], one.feasible ? one.row_of_column[j] : unassigned);
          if (one.feasible) {
            EXPECT_EQ(found.column_potentials[n * columns + j], one.column_potentials[j]);
          }
        }
      }
    }
  }
  std::vector<double> wrong(3 * 35, 1.0);
  EXPECT_THROW(assignment::solve_batch(wrong, 4, 7), shoal::bad_argument);
  wrong[2 * 35 + 8] = std::nan("");
  try {
    assignment::solve_batch(wrong, 5, 7);
    FAIL() << "not-a-number was taken";
  } catch (const shoal::bad_data& error) {
    EXPECT_NE(std::string(error.what()).find("problem 2: the cost of row 1 and column 1"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(assignment::solve_batch({}, 5, 7).problems, 0u);
}

TEST(methods, sparse_costs_are_dense_ones_with_forbidden_pairs) {
  std::size_t infeasible = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const cost_matrix costs = make(kind::forbidden, 1 + seed % 13, 1 + seed % 17, seed);
    std::vector<std::int64_t> starts = {0}, indices;
    std::vector<double> values;
    for (std::size_t i = 0; i < costs.rows; ++i) {
      for (std::size_t j = 0; j < costs.columns; ++j) {
        if (std::isinf(costs(i, j))) continue;
        indices.push_back(static_cast<std::int64_t>(j));
        values.push_back(costs(i, j));
      }
      starts.push_back(static_cast<std::int64_t>(indices.size()));
    }
    const assignment::sparse_costs sparse{costs.rows, costs.columns, starts, indices, values};
    for (const bool maximise : {false, true}) {
      const assignment::solution found = assignment::solve(sparse, {.maximise = maximise});
      const assignment::solution dense = assignment::solve(costs.view(), {.maximise = maximise});
      ASSERT_TRUE(found.certified) << seed;
      ASSERT_EQ(found.feasible, dense.feasible) << seed;
      if (found.feasible) {
        ASSERT_NEAR(found.cost, dense.cost, 1e-12) << seed;
        if (!maximise) expect_proven(costs, found);
      } else {
        ++infeasible;
      }
    }
    if (costs.rows == costs.columns) {
      const assignment::solution bid = assignment::solve(sparse, {.method = method::auction});
      ASSERT_TRUE(bid.certified) << seed;
      ASSERT_EQ(bid.feasible, assignment::solve(costs.view()).feasible) << seed;
      if (bid.feasible) {
        ASSERT_NEAR(bid.cost, assignment::solve(costs.view()).cost, 1e-12) << seed;
      }
    } else {
      EXPECT_THROW(assignment::solve(sparse, {.method = method::auction}), shoal::bad_argument);
    }
    const double priced = assignment::solve(sparse, {.price = 4}).cost;
    ASSERT_NEAR(priced, assignment::solve(costs.view(), {.price = 4}).cost, 1e-12) << seed;
  }
  EXPECT_GT(infeasible, 40u);
  const std::vector<std::int64_t> starts = {0, 2}, descending = {1, 0};
  const std::vector<double> values = {1, 2};
  EXPECT_THROW(assignment::solve(assignment::sparse_costs{1, 2, starts, descending, values}), shoal::bad_argument);
}

TEST(methods, refuse_what_they_cannot_do) {
  const cost_matrix large = make(kind::exponential, 13, 13, 0);
  EXPECT_THROW(assignment::solve(large.view(), {.method = method::brute_force}), shoal::bad_argument);
  EXPECT_THROW(assignment::solve(large.view(), {.method = method::greedy, .price = 1}), shoal::bad_argument);
  EXPECT_THROW(assignment::solve(large.view(), {.method = method::greedy_paths, .paths = 0}), shoal::bad_argument);
  const cost_matrix blocked{2, 2, {1, 2, 3, infinity}};
  EXPECT_THROW(assignment::solve(blocked.view(), {.method = method::greedy}), shoal::bad_data);
  EXPECT_EQ(assignment::solve(blocked.view()).cost, 5);
  EXPECT_THROW(assignment::method_named("munkres"), shoal::bad_argument);
  EXPECT_EQ(assignment::method_named("greedy-paths"), method::greedy_paths);
}

}  // namespace
