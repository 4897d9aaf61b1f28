// Permutations: the laws of a group, cycles, signs and orders.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

static_assert(group<symmetric_group> && !commutative_magma<symmetric_group> && finite_group<symmetric_group>);

std::string refusal(const auto& action) {
  try {
    action();
  } catch (const shoal::bad_argument& refused) {
    return refused.what();
  }
  return "nothing was refused";
}

TEST(Permutations, AreAGroup) {
  for (const std::size_t size : {0, 1, 2, 3, 4}) {
    const law_report report = check_group(symmetric_group(size));
    EXPECT_TRUE(report.passed()) << report.message();
  }
  expect_property("permutations of nine things", [] {
    const symmetric_group group(9);
    std::vector<permutation> samples{group.identity()};
    for (int i = 0; i < 4; ++i) {
      permutation images = group.identity();
      for (std::size_t k = 8; k > 0; --k) std::swap(images[k], images[*rc::gen::inRange<std::size_t>(0, k + 1)]);
      samples.push_back(group.of(images));
    }
    const law_report report = check_group(group, samples);
    if (!report.passed()) RC_FAIL(report.message());
    for (const auto& a : samples) {
      RC_ASSERT(group.of_cycles(cycles(a)) == a);
      RC_ASSERT(power(group, a, order(a)) == group.identity());
      for (const auto& b : samples) RC_ASSERT(sign(group.combine(a, b)) == sign(a) * sign(b));
    }
  });
}

TEST(Permutations, ComposeFromTheRight) {
  const symmetric_group group(3);
  const permutation exchange = group.of_cycles({{0, 1}}), turn = group.of_cycles({{0, 1, 2}});
  EXPECT_EQ(turn, (permutation{1, 2, 0}));
  EXPECT_EQ(group.combine(exchange, turn), (permutation{0, 2, 1}));  // 0 → 1 → 0, 1 → 2 → 2, 2 → 0 → 1
  EXPECT_EQ(group.combine(turn, exchange), (permutation{2, 1, 0}));
  EXPECT_EQ(group.inverse(turn), (permutation{2, 0, 1}));
  EXPECT_EQ(group.describe(group.inverse(turn)), "(0 2 1)");
  EXPECT_EQ(group.describe(group.identity()), "()");
}

TEST(Permutations, OfFourThingsHaveTheOrdersSignsAndClassesOfS4) {
  const symmetric_group group(4);
  std::map<std::size_t, int> orders;
  int even = 0;
  for (const auto& a : group.elements()) {
    ++orders[order(a)];
    EXPECT_EQ(order(a), element_order(group, a));
    if (sign(a) == 1) ++even;
  }
  EXPECT_EQ(orders, (std::map<std::size_t, int>{{1, 1}, {2, 9}, {3, 8}, {4, 6}}));
  EXPECT_EQ(even, 12);
  EXPECT_EQ(conjugacy_classes(group).size(), 5u);
  EXPECT_EQ(centre(group).size(), 1u);
  EXPECT_EQ(subgroups(group).size(), 30u);
  // The symmetries of a square with numbered corners are a subgroup of order 8.
  EXPECT_EQ(generated_subgroup(group, {group.of({1, 2, 3, 0}), group.of({1, 0, 3, 2})}).size(), 8u);
}

TEST(Permutations, HaveOrdersOfLeastCommonMultiples) {
  const symmetric_group group(12);
  EXPECT_EQ(order(group.of_cycles({{0, 1}, {2, 3, 4}, {5, 6, 7, 8, 9}})), 30u);
  EXPECT_EQ(order(group.of_cycles({{0, 1, 2, 3}, {4, 5, 6, 7, 8, 9}})), 12u);
  EXPECT_EQ(order(group.identity()), 1u);
  // Cycles of the primes up to 53: the product of these does not fit in 64 bits.
  permutation large;
  for (const std::size_t prime : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53}) {
    const std::size_t first = large.size();
    for (std::size_t i = 0; i < prime; ++i) large.push_back(first + (i + 1) % prime);
    if (prime == 47) {
      EXPECT_EQ(order(large), 614889782588491410u);
    }
  }
  EXPECT_THROW(order(large), shoal::bad_argument);
}

TEST(Permutations, RefuseWhatIsNone) {
  const symmetric_group group(3);
  EXPECT_EQ(refusal([&] { group.of({0, 2, 2}); }), "symmetric_group: 2 goes to 2, where another goes already");
  EXPECT_EQ(refusal([&] { group.of({0, 3, 1}); }), "symmetric_group: 1 goes to 3, which is not below 3");
  EXPECT_EQ(refusal([&] { group.of({0, 1}); }), "symmetric_group: a permutation of 2 things where the group is of 3");
  EXPECT_EQ(refusal([&] {
              group.of_cycles({{0, 1}, {1, 2}});
            }),
            "symmetric_group: 1 is in two cycles, or twice in one");
  EXPECT_EQ(refusal([&] { group.of_cycles({{0, 5}}); }), "symmetric_group: 5 in a cycle is not below 3");
  EXPECT_EQ(refusal([&] { group.of_cycles({{1, 1}}); }), "symmetric_group: 1 is in two cycles, or twice in one");
  EXPECT_THROW(symmetric_group(9).elements(), shoal::bad_argument);
  EXPECT_THROW(group.combine({0, 1}, {0, 1, 2}), shoal::bad_argument);
}

}  // namespace
