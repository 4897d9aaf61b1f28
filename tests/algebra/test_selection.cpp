// Selecting structures: extrema and where they are, the k greatest, lexicographic order.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

std::vector<located<double>> located_values(const std::vector<double>& keys) {
  std::vector<located<double>> result;
  for (std::size_t i = 0; i < keys.size(); ++i) result.push_back({keys[i], i});
  return result;
}

TEST(Argmin, TakesTheLowestIndexOfEqualKeys) {
  auto values = located_values({3, 1, 2, 1, 3, 1});
  EXPECT_EQ(reduce(argmin<double>{}, values), (located<double>{1, 1}));
  EXPECT_EQ(reduce(argmax<double>{}, values), (located<double>{3, 0}));
  // In any order of the rows.
  std::mt19937 engine(3);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(values.begin(), values.end(), engine);
    EXPECT_EQ(reduce(argmin<double>{}, values), (located<double>{1, 1}));
    EXPECT_EQ(reduce_unordered(argmax<double>{}, values), (located<double>{3, 0}));
  }
  // A row at infinity still beats no row.
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(reduce(argmin<double>{}, located_values({infinity, infinity})).index, 0u);
  EXPECT_EQ(reduce(argmin<double>{}, std::vector<located<double>>{}), argmin<double>{}.identity());
}

TEST(Argmin, KeepsEveryLawExactly) {
  expect_property("argmin and argmax", [] {
    const auto keys = *rc::gen::container<std::vector<int>>(6, rc::gen::inRange(-2, 3));
    std::vector<located<int>> samples{argmin<int>{}.identity()};
    for (std::size_t i = 0; i < keys.size(); ++i) samples.push_back({keys[i], i});
    RC_ASSERT(check_declared(argmin<int>{}, samples));
    samples.front() = argmax<int>{}.identity();
    RC_ASSERT(check_declared(argmax<int>{}, samples));
  });
  // With "the first operand wins" instead of the lowest index, it does not commute.
  struct first_wins : argmin<int> {
    located<int> combine(const located<int>& a, const located<int>& b) const { return b.key < a.key ? b : a; }
  };
  const std::vector<located<int>> samples{{1, 0}, {1, 1}};
  EXPECT_TRUE(check_declared(first_wins{}, samples).failed("commutativity"));
}

TEST(Extrema, AreSemilatticesOnIntegersToo) {
  const std::vector<int> samples{0, 1, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()};
  EXPECT_TRUE(check_declared(minimum<int>{}, samples));
  EXPECT_TRUE(check_declared(maximum<int>{}, samples));
  static_assert(semilattice<minimum<int>>);
}

// Sort everything, keep the first k.
std::vector<located<int>> sorted_prefix(std::vector<located<int>> values, std::size_t k) {
  std::sort(values.begin(), values.end(),
            [](const auto& a, const auto& b) { return a.key != b.key ? a.key > b.key : a.index < b.index; });
  values.resize(std::min(values.size(), k));
  return values;
}

TEST(TopK, IsTheBeginningOfTheSortedWhole) {
  expect_property("top k", [] {
    const auto keys = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-3, 4));
    const auto k = *rc::gen::inRange<std::size_t>(0, 6);
    const top_k<int> structure(k);
    std::vector<located<int>> all;
    std::vector<std::vector<located<int>>> one_by_one;
    std::vector<located<int>> inserted = structure.identity();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      all.push_back({keys[i], i});
      one_by_one.push_back(k == 0 ? std::vector<located<int>>{} : std::vector<located<int>>{all.back()});
      structure.insert(inserted, all.back());
    }
    const auto expected = sorted_prefix(all, k);
    RC_ASSERT(reduce(structure, one_by_one) == expected);
    RC_ASSERT(reduce_unordered(structure, one_by_one) == expected);
    RC_ASSERT(inserted == expected);
  });
}

TEST(TopK, IsACommutativeMonoid) {
  expect_property("top k", [] {
    const auto k = *rc::gen::inRange<std::size_t>(0, 5);
    const top_k<int> structure(k);
    std::vector<std::vector<located<int>>> samples(4);
    std::size_t index = 0;
    for (auto& sample : samples) {
      const auto keys = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-2, 3));
      for (const int key : keys) structure.insert(sample, {key, index++});
    }
    const law_report report = check_declared(structure, samples);
    if (!report) RC_FAIL(report.message());
  });
  EXPECT_EQ(top_k<double>(3).bytes(), 3 * sizeof(located<double>));
}

TEST(Lexicographic, OfMinimumAndMinimumIsArgmin) {
  const lexicographic<minimum<double>, minimum<std::size_t>> order;
  const auto values = located_values({3, 1, 2, 1, 3, 1});
  for (const auto& a : values) {
    for (const auto& b : values) {
      const auto [key, index] = order.combine({a.key, a.index}, {b.key, b.index});
      EXPECT_EQ((located<double>{key, index}), argmin<double>{}.combine(a, b));
    }
  }
  EXPECT_EQ(order.identity().first, argmin<double>{}.identity().key);
  EXPECT_EQ(order.identity().second, argmin<double>{}.identity().index);
}

TEST(Lexicographic, CombinesPayloadsOfEqualKeys) {
  // How often the maximum occurs.
  const lexicographic<maximum<int>, integer_addition<int>> counted;
  std::vector<std::pair<int, int>> values;
  for (const int x : {4, 9, 2, 9, 9, 1}) values.push_back({x, 1});
  EXPECT_EQ(reduce(counted, values), (std::pair{9, 3}));
  EXPECT_EQ(reduce(counted, std::vector<std::pair<int, int>>{}), counted.identity());
  values.push_back(counted.identity());
  const law_report report = check_declared(counted, values);
  EXPECT_TRUE(report.passed()) << report.message();
  static_assert(commutative_monoid<lexicographic<maximum<int>, integer_addition<int>>>);
  // The payload decides what commutes: with strings it does not.
  static_assert(!commutative_magma<lexicographic<maximum<int>, concatenation>>);
}

}  // namespace
