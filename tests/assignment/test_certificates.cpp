// The dual certificate as a law, on thousands of instances: every scalar, both ways of searching, prices, adversaries.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/assignment/certificate.hpp>
#include <shoal/core/error.hpp>

#include "cost_matrices.hpp"

namespace {

using namespace cost_matrices;

template <class T>
shoal::matrix_view<const T> view_of(const std::vector<T>& values, const cost_matrix& shape) {
  return {values.data(), shape.rows, shape.columns};
}

// From 257 columns on, searches see candidates alone: their results must prove themselves too.
TEST(certificates, hold_where_searches_see_candidates) {
  const std::pair<std::size_t, std::size_t> shapes[] = {{257, 257}, {300, 300}, {40, 300},
                                                        {300, 40},  {250, 270}, {1, 400}};
  for (const kind kind : all_kinds)
    for (const auto& [rows, columns] : shapes)
      for (std::uint64_t seed = 0; seed < 2; ++seed) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", kind " << static_cast<int>(kind));
        const cost_matrix costs = make(kind, rows, columns, seed);
        expect_right(costs, assignment::solve(costs.view()));
      }
}

// A price that nobody pays changes nothing but the way of searching: all sizes go through candidates.
TEST(certificates, hold_for_a_price_that_nobody_pays) {
  for (const kind kind : all_kinds) {
    if (kind == kind::forbidden) continue;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
      const std::size_t rows = 1 + seed % 23, columns = rows + seed % 29;
      const cost_matrix costs = make(kind, rows, columns, seed);
      const assignment::solution plain = assignment::solve(costs.view());
      const double price = 1 + 4 * 24 * largest_finite(costs);
      const assignment::solution priced = assignment::solve(costs.view(), {.price = price});
      ASSERT_TRUE(plain.certified && priced.certified) << static_cast<int>(kind) << ", seed " << seed;
      ASSERT_NEAR(priced.cost, plain.cost, 1e-13 * (1 + price));
    }
  }
}

double with_singles(const cost_matrix& costs, double price, std::size_t row, std::vector<bool>& taken) {
  if (row == costs.rows) return 0;
  double least = price + with_singles(costs, price, row + 1, taken);
  for (std::size_t j = 0; j < costs.columns; ++j) {
    if (taken[j] || std::isinf(costs(row, j))) continue;
    taken[j] = true;
    least = std::min(least, costs(row, j) + with_singles(costs, price, row + 1, taken));
    taken[j] = false;
  }
  return least;
}

TEST(certificates, prices_equal_enumeration_with_rows_that_stay_single) {
  std::size_t single = 0;
  for (const kind kind : {kind::exponential, kind::few_whole, kind::forbidden, kind::negative})
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const cost_matrix costs = make(kind, 1 + seed % 5, 1 + seed / 5 % 6, seed);
      const double price = std::vector<double>{0.3, 1.5, 4, -2e5}[seed % 4];
      const assignment::solution found = assignment::solve(costs.view(), {.price = price});
      std::vector<bool> taken(costs.columns, false);
      ASSERT_TRUE(found.feasible && found.certified);
      ASSERT_NEAR(found.cost, with_singles(costs, price, 0, taken), 1e-14 * (1 + 7 * largest_finite(costs)));
      for (const std::size_t j : found.column_of_row) single += j == unassigned ? 1 : 0;
    }
  EXPECT_GT(single, 100u);
}

TEST(certificates, every_scalar_gives_one_result) {
  for (const std::size_t size : {30u, 280u}) {
    const cost_matrix costs = make(kind::many_whole, size, size + 20, 5);
    const std::vector<float> narrow(costs.values.begin(), costs.values.end());
    const std::vector<std::int32_t> whole(costs.values.begin(), costs.values.end());
    const std::vector<std::int64_t> wide(costs.values.begin(), costs.values.end());
    const assignment::solution expected = assignment::solve(costs.view());
    expect_proven(costs, expected);
    for (const assignment::solution& found :
         {assignment::solve(view_of(narrow, costs)), assignment::solve(view_of(whole, costs)),
          assignment::solve(view_of(wide, costs))}) {
      EXPECT_EQ(found.column_of_row, expected.column_of_row);
      EXPECT_EQ(found.row_potentials, expected.row_potentials);
      EXPECT_TRUE(found.certified);
    }
  }
}

TEST(certificates, maximising_is_minimising_the_negated) {
  for (const std::size_t size : {20u, 270u}) {
    cost_matrix costs = make(kind::exponential, size, size + 3, 1);
    const assignment::solution most = assignment::solve(costs.view(), {.maximise = true});
    cost_matrix negated = costs;
    for (double& cost : negated.values) cost = -cost;
    const assignment::solution least = assignment::solve(negated.view());
    EXPECT_TRUE(most.certified);
    EXPECT_EQ(most.cost, -least.cost);
    EXPECT_EQ(most.column_of_row, least.column_of_row);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(most.row_potentials[i], -least.row_potentials[i]);
    // +∞ forbids here too.
    costs.values[most.column_of_row[0]] = infinity;
    const assignment::solution other = assignment::solve(costs.view(), {.maximise = true});
    EXPECT_TRUE(other.certified);
    EXPECT_LT(other.cost, most.cost);
  }
}

TEST(certificates, refuse_what_is_no_proof) {
  const cost_matrix costs = make(kind::exponential, 12, 14, 3);
  const assignment::solution found = assignment::solve(costs.view());
  const auto refused = [&](auto change) {
    assignment::solution wrong = found;
    change(wrong);
    return !assignment::certify(costs.view(), wrong, infinity);
  };
  ASSERT_TRUE(assignment::certify(costs.view(), found, infinity));
  EXPECT_TRUE(refused([](auto& s) { std::swap(s.column_of_row[0], s.column_of_row[1]); }));
  EXPECT_TRUE(refused([](auto& s) { s.row_potentials[3] += 1e-9; }));
  EXPECT_TRUE(refused([](auto& s) { s.row_potentials[3] -= 1e-9; }));
  EXPECT_TRUE(refused([](auto& s) { s.column_potentials[s.column_of_row[2]] -= 1e-9; }));
  EXPECT_TRUE(refused([](auto& s) { s.cost += 1e-9; }));
  EXPECT_TRUE(refused([](auto& s) { s.row_potentials[1] = std::nan(""); }));
  EXPECT_TRUE(refused([](auto& s) { s.row_of_column.pop_back(); }));
}

TEST(certificates, say_where_a_cost_is_none) {
  cost_matrix costs = make(kind::exponential, 290, 300, 3);
  for (const double wrong : {std::nan(""), -infinity, 1e308}) {
    cost_matrix broken = costs;
    broken.values[123 * 300 + 217] = wrong;
    for (const bool maximise : {false, true}) {
      try {
        assignment::solve(broken.view(), {.maximise = maximise});
        ADD_FAILURE() << "accepted";
      } catch (const shoal::bad_data& refused) {
        EXPECT_NE(std::string(refused.what()).find("row 123 and column 217"), std::string::npos) << refused.what();
      }
    }
    EXPECT_THROW(assignment::solve(transposed(broken).view()), shoal::bad_data);
  }
  const std::vector<std::int64_t> huge = {1, std::int64_t{1} << 53, 3, 4};
  EXPECT_THROW(assignment::solve(shoal::matrix_view<const std::int64_t>(huge.data(), 2, 2)), shoal::bad_data);
  EXPECT_THROW(assignment::solve(costs.view(), {.price = std::nan("")}), shoal::bad_argument);
}

}  // namespace
