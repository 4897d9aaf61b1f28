// Agreement of labellings: hand-counted tables, published values, and laws that hold for every pair of labellings.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/core/error.hpp>
#include <shoal/metrics/agreement.hpp>

namespace {

using labels = std::vector<std::int32_t>;
using shoal::metrics::adjusted_rand_index;
using shoal::metrics::contingency;

double index_of(const labels& first, const labels& second) { return adjusted_rand_index(contingency(first, second)); }

// Counts the pairs of rows one by one: n² steps, nothing shared with the formula under test.
double pair_by_pair(const labels& first, const labels& second) {
  double both = 0, only_first = 0, only_second = 0, neither = 0;
  for (std::size_t i = 0; i < first.size(); ++i)
    for (std::size_t j = i + 1; j < first.size(); ++j) {
      const bool same_first = first[i] == first[j];
      const bool same_second = second[i] == second[j];
      if (same_first && same_second) ++both;
      if (same_first && !same_second) ++only_first;
      if (!same_first && same_second) ++only_second;
      if (!same_first && !same_second) ++neither;
    }
  if (only_first == 0 && only_second == 0) return 1;
  return 2 * (both * neither - only_first * only_second) /
         ((both + only_first) * (only_first + neither) + (both + only_second) * (only_second + neither));
}

TEST(contingency, counts_by_hand) {
  const auto table = contingency(labels{2, 2, 7, 7, 7}, labels{-1, 4, 4, 4, -1});
  EXPECT_EQ(table.first, (labels{2, 7}));
  EXPECT_EQ(table.second, (labels{-1, 4}));
  EXPECT_EQ(table.counts, (std::vector<std::uint64_t>{1, 1, 1, 2}));
  EXPECT_EQ(table.rows, 5u);
  EXPECT_EQ(table(1, 1), 2u);
}

TEST(contingency, takes_extreme_labels_and_no_rows) {
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t greatest = std::numeric_limits<std::int32_t>::max();
  const auto table = contingency(labels{greatest, least, 0}, labels{0, 0, 0});
  EXPECT_EQ(table.first, (labels{least, 0, greatest}));
  EXPECT_EQ(table.counts, (std::vector<std::uint64_t>{1, 1, 1}));
  EXPECT_EQ(contingency(labels{}, labels{}).rows, 0u);
  EXPECT_DOUBLE_EQ(index_of({}, {}), 1);
}

TEST(contingency, refuses_different_lengths) {
  EXPECT_THROW(contingency(labels{0, 1}, labels{0}), shoal::bad_argument);
}

TEST(adjusted_rand_index, known_values) {
  EXPECT_DOUBLE_EQ(index_of({0, 0, 1, 1}, {1, 1, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(index_of({0, 0, 1, 2}, {0, 0, 1, 1}), 4.0 / 7.0);
  EXPECT_DOUBLE_EQ(index_of({0, 0, 1, 1}, {0, 0, 1, 2}), 4.0 / 7.0);
  EXPECT_DOUBLE_EQ(index_of({0, 0, 0, 0}, {0, 1, 2, 3}), 0);
  EXPECT_DOUBLE_EQ(index_of({0, 0, 1, 1}, {0, 1, 0, 1}), -0.5);
  // n = 6, cells 2 1 0 / 0 1 2: together 2, rows 3 + 3, columns 1 + 1 + 1, expected 6·3/15, greatest 4.5.
  EXPECT_DOUBLE_EQ(index_of({0, 0, 0, 1, 1, 1}, {0, 0, 1, 1, 2, 2}), (2 - 1.2) / (4.5 - 1.2));
}

TEST(adjusted_rand_index, one_group_or_all_apart_on_both_sides_agree) {
  EXPECT_DOUBLE_EQ(index_of({3}, {5}), 1);
  EXPECT_DOUBLE_EQ(index_of({0, 0, 0}, {4, 4, 4}), 1);
  EXPECT_DOUBLE_EQ(index_of({0, 1, 2}, {7, 8, 9}), 1);
}

RC_GTEST_PROP(adjusted_rand_index, equals_counting_pairs, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(2, 40);
  const auto first = *rc::gen::container<labels>(size, rc::gen::inRange<std::int32_t>(-2, 3));
  const auto second = *rc::gen::container<labels>(size, rc::gen::inRange<std::int32_t>(0, 4));
  const double found = index_of(first, second);
  RC_ASSERT(std::abs(found - pair_by_pair(first, second)) < 1e-12);
  RC_ASSERT(std::abs(found - index_of(second, first)) < 1e-12);
  labels renamed = first;
  for (std::int32_t& label : renamed) label = 100 - 7 * label;
  RC_ASSERT(std::abs(found - index_of(renamed, second)) < 1e-12);
  RC_ASSERT(std::abs(index_of(first, renamed) - 1) < 1e-12);
}

}  // namespace
