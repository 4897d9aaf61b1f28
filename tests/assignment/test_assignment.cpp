// Linear assignment: every assignment of small problems, published values, and the dual certificate as a law.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/core/error.hpp>

#include "cost_matrices.hpp"

namespace {

using namespace cost_matrices;

TEST(assignment, equals_enumeration_of_small_problems) {
  std::size_t infeasible = 0;
  for (const kind kind : all_kinds)
    for (std::size_t rows = 1; rows <= 7; ++rows)
      for (std::size_t columns = 1; columns <= 7; ++columns)
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
          SCOPED_TRACE(testing::Message()
                       << rows << " x " << columns << ", kind " << static_cast<int>(kind) << ", seed " << seed);
          const cost_matrix costs = make(kind, rows, columns, seed);
          const assignment::solution found = assignment::solve(costs.view());
          expect_right(costs, found);
          const double least = by_enumeration(costs);
          if (std::isinf(least)) ++infeasible;
          EXPECT_EQ(found.feasible, !std::isinf(least));
          if (found.feasible) {
            EXPECT_NEAR(found.cost, least, 1e-14 * (1 + 7 * largest_finite(costs)));
          }
        }
  EXPECT_GT(infeasible, 20u);  // the kind with forbidden pairs shows both outcomes
}

TEST(assignment, known_optimum_of_a_matrix_with_ties) {
  const cost_matrix costs{6, 6, {62, 31, 79, 6,   21, 37, 45, 27, 23, 66, 9,  17, 83, 59, 25, 38, 63,  25,
                                 1,  37, 53, 100, 80, 51, 69, 72, 74, 32, 82, 31, 34, 95, 61, 64, 100, 82}};
  const assignment::solution least = assignment::solve(costs.view());
  EXPECT_EQ(least.cost, 142);
  expect_proven(costs, least);
  cost_matrix negated = costs;
  for (double& cost : negated.values) cost = -cost;
  EXPECT_EQ(assignment::solve(negated.view()).cost, -462);
}

// E = Σ 1/((m − i)(n − j)) over i + j < n (Parisi's and Coppersmith & Sorkin's formula); for n = m it is Σ 1/k².
double expected_cost(std::size_t rows, std::size_t columns) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; i + j < rows; ++j)
      sum += 1 / (static_cast<double>(columns - i) * static_cast<double>(rows - j));
  return sum;
}

TEST(assignment, mean_cost_of_exponential_costs) {
  EXPECT_NEAR(expected_cost(20, 50), 0.4469, 5e-5);
  EXPECT_NEAR(expected_cost(10, 10), 1.5498, 5e-5);
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{50, 50}, {10, 10}, {20, 50}}) {
    constexpr std::size_t problems = 400;
    double sum = 0, squares = 0;
    for (std::uint64_t seed = 0; seed < problems; ++seed) {
      const double cost = assignment::solve(make(kind::exponential, rows, columns, seed).view()).cost;
      sum += cost;
      squares += cost * cost;
    }
    const double mean = sum / problems;
    const double error = std::sqrt((squares / problems - mean * mean) / problems);
    EXPECT_NEAR(mean, expected_cost(rows, columns), 4 * error) << rows << " x " << columns;
  }
}

TEST(assignment, proves_itself_at_larger_sizes) {
  for (const kind kind : all_kinds) {
    for (const auto& [rows, columns] :
         {std::pair<std::size_t, std::size_t>{257, 257}, {64, 300}, {300, 64}, {150, 151}, {1, 500}, {500, 1}}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", kind " << static_cast<int>(kind));
      const cost_matrix costs = make(kind, rows, columns, 7);
      const assignment::solution found = assignment::solve(costs.view());
      expect_right(costs, found);
      const assignment::solution turned = assignment::solve(transposed(costs).view());
      EXPECT_EQ(turned.feasible, found.feasible);
      if (found.feasible) {
        EXPECT_NEAR(turned.cost, found.cost, 1e-12 * (1 + std::abs(found.cost)));
      }
    }
  }
}

// Costs of i·j make each row outbid every other by ever smaller steps: the worst of the classical examples.
TEST(assignment, products_of_positions) {
  cost_matrix costs{120, 120, {}};
  for (std::size_t i = 0; i < 120; ++i)
    for (std::size_t j = 0; j < 120; ++j) costs.values.push_back(static_cast<double>((i + 1) * (j + 1)));
  const assignment::solution found = assignment::solve(costs.view());
  expect_proven(costs, found);
  for (std::size_t i = 0; i < 120; ++i) EXPECT_EQ(found.column_of_row[i], 119 - i);
}

// A long chain of rows that have two columns each: one of them must give way to all others.
TEST(assignment, a_path_through_every_row) {
  constexpr std::size_t size = 200;
  cost_matrix costs{size, size, std::vector<double>(size * size, infinity)};
  for (std::size_t i = 0; i < size; ++i) {
    costs.values[i * size + (i == 0 ? 0 : i - 1)] = 1;
    costs.values[i * size + i] = i + 1 == size ? 1e6 : 2;
  }
  const assignment::solution found = assignment::solve(costs.view());
  expect_proven(costs, found);
  EXPECT_EQ(found.cost, 1e6 + 2 * (size - 1));
}

TEST(assignment, nothing_to_assign) {
  const std::vector<double> none;
  for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{0, 0}, {0, 3}, {3, 0}}) {
    const assignment::solution found = assignment::solve({none.data(), rows, columns});
    EXPECT_TRUE(found.feasible);
    EXPECT_EQ(found.cost, 0);
    EXPECT_EQ(found.column_of_row, std::vector<std::size_t>(rows, unassigned));
    EXPECT_EQ(found.row_of_column, std::vector<std::size_t>(columns, unassigned));
    EXPECT_EQ(found.row_potentials, std::vector<double>(rows, 0.0));
    EXPECT_EQ(found.column_potentials, std::vector<double>(columns, 0.0));
  }
}

TEST(assignment, a_row_or_column_that_is_forbidden_everything) {
  const cost_matrix wide{2, 3, {1, 2, 3, infinity, infinity, infinity}};
  const assignment::solution row = assignment::solve(wide.view());
  expect_infeasible(wide, row);
  EXPECT_EQ(row.conflicting_rows, std::vector<std::size_t>{1});
  EXPECT_TRUE(row.conflicting_columns.empty());
  const assignment::solution column = assignment::solve(transposed(wide).view());
  EXPECT_EQ(column.conflicting_columns, std::vector<std::size_t>{1});
  // With a column to spare, one that nobody may have is no obstacle.
  const cost_matrix spare{2, 3, {1, infinity, 3, 4, infinity, 5}};
  expect_proven(spare, assignment::solve(spare.view()));
}

TEST(assignment, reads_rows_at_their_stride) {
  const double infinite_between[] = {1, 5, -infinity, 4, 1, std::nan("")};
  const assignment::solution found = assignment::solve(shoal::matrix_view<const double>(infinite_between, 2, 2, 3));
  EXPECT_EQ(found.cost, 2);
}

TEST(assignment, refuses_costs_that_are_none) {
  const auto refused = [](std::vector<double> values, const char* place) {
    try {
      assignment::solve({values.data(), 2, 2});
      ADD_FAILURE() << "accepted";
    } catch (const shoal::bad_data& wrong) {
      EXPECT_NE(std::string(wrong.what()).find(place), std::string::npos) << wrong.what();
    }
  };
  refused({1, 2, 3, std::nan("")}, "row 1 and column 1");
  refused({1, -infinity, 3, 4}, "row 0 and column 1");
  refused({1, 2, 1e308, 4}, "row 1 and column 0");
}

RC_GTEST_PROP(assignment, a_constant_on_a_row_moves_the_cost_alone, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 40);
  const auto columns = *rc::gen::inRange<std::size_t>(rows, 41);
  cost_matrix costs = make(kind::many_whole, rows, columns, *rc::gen::inRange<std::uint64_t>(0, 1000));
  const double before = assignment::solve(costs.view()).cost;
  const auto row = *rc::gen::inRange<std::size_t>(0, rows);
  for (std::size_t j = 0; j < columns; ++j) costs.values[row * columns + j] += 17;
  RC_ASSERT(assignment::solve(costs.view()).cost == before + 17);
}

}  // namespace
