// Reductions and scans: the order they state, the same bits for every runner, and the bridge to folds over rows.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/runner.hpp>

#include "runners.hpp"

namespace {

using namespace shoal::algebra;

// Shows the tree: combining writes parentheses.
struct parentheses {
  using value_type = std::string;
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  std::string combine(const std::string& a, const std::string& b) const { return "(" + a + b + ")"; }
  std::string identity() const { return ""; }
  std::size_t bytes() const { return sizeof(std::string); }
};

std::vector<double> uneven(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = std::ldexp(std::sin(static_cast<double>(i)), static_cast<int>(i % 40));
  return values;
}

std::vector<std::string> letters(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.emplace_back(1, static_cast<char>('a' + i % 26));
  return result;
}

TEST(Reduce, CombinesInTheStatedTree) {
  EXPECT_EQ(reduce(parentheses{}, letters(0)), "");
  EXPECT_EQ(reduce(parentheses{}, letters(1)), "a");
  EXPECT_EQ(reduce(parentheses{}, letters(4)), "((ab)(cd))");
  EXPECT_EQ(reduce(parentheses{}, letters(7)), "(((ab)(cd))((ef)g))");
  const auto list = letters(7);
  EXPECT_EQ(reduce(parentheses{}, std::list<std::string>(list.begin(), list.end())), reduce(parentheses{}, list));
}

TEST(Reduce, UsesTheTreeOfTheLanesOfAFold) {
  std::mt19937 engine(1);
  const auto monoid = complete(parentheses{});
  for (std::size_t count = 1; count < 70; ++count) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int shuffled = 0; shuffled < 5; ++shuffled) {
      shoal::value_pool<complete<parentheses>> pool;
      shoal::lane_merger<complete<parentheses>> merger(monoid, pool, count, 0, count);
      for (const std::size_t lane : order) {
        std::string* const value = pool.take(monoid);
        *value = letters(count)[lane];
        merger.complete(lane, value);
      }
      EXPECT_EQ(*merger.subtree(0), reduce(parentheses{}, letters(count)));
      std::shuffle(order.begin(), order.end(), engine);
    }
  }
}

// Values that lie in memory are combined by whole levels of the tree; a list of the same values goes through it one by
// one.
template <class Structure>
void expect_one_tree(const Structure& structure, const std::vector<value_of<Structure>>& values) {
  for (std::size_t count = 0; count <= values.size(); count += count < 200 ? 1 : 61) {
    const std::vector<value_of<Structure>> part(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    const std::list<value_of<Structure>> one_by_one(part.begin(), part.end());
    ASSERT_EQ(reduce(structure, part), reduce(structure, one_by_one)) << count;
    ASSERT_EQ(reduce_nonempty(structure, part), reduce_nonempty(structure, one_by_one)) << count;
  }
}

TEST(Reduce, IsOneTreeHoweverItIsComputed) {
  const auto values = uneven(3500);
  expect_one_tree(real_addition<double>{}, values);
  std::vector<affine_map<double>> maps;
  for (std::size_t i = 0; i < values.size(); ++i) maps.push_back({std::cos(values[i]), values[i]});
  expect_one_tree(affine_maps<reals<double>>{}, maps);
  std::vector<moments_value> parts;
  for (const double x : values) parts.push_back(moments::of(x));
  expect_one_tree(moments{}, parts);
}

TEST(Reduce, KeepsOrder) {
  const std::vector<std::string> words{"a", "sh", "oal", "", " of", " fish"};
  EXPECT_EQ(reduce(concatenation{}, words), "ashoal of fish");
  EXPECT_EQ(reduce(concatenation{}, std::vector<std::string>{}), "");
}

struct first {
  using value_type = int;
  static constexpr operation_laws laws{.associative = law::exact};
  int combine(int a, int) const { return a; }
};

TEST(Reduce, OfNothingNeedsAnIdentity) {
  // A semigroup without identity has no answer for an empty range, so it is asked differently.
  static_assert(semigroup<first> && !monoid<first>);
  EXPECT_EQ(reduce_nonempty(first{}, std::vector<int>{4, 5}), 4);
  EXPECT_EQ(reduce_nonempty(first{}, std::vector<int>{}), std::nullopt);
}

TEST(Reduce, UnorderedTakesEveryEighthElementTogether) {
  const std::string pairs = "(((a)i)((b)j))", rest = "((c)(d))", right = "(((e)(f))((g)(h)))";
  EXPECT_EQ(reduce_unordered(parentheses{}, letters(10)), "((" + pairs + rest + ")" + right + ")");
  EXPECT_EQ(reduce_unordered(integer_addition<int>{}, std::vector<int>{}), 0);
}

TEST(Reduce, HasTheSameBitsForEveryRunner) {
  const auto pool = shoal::make_threads(3);
  const shoal::runner on_executor(*pool);
  for (const std::size_t count : {0, 1, 7, 1023, 1024, 1025, 5000, 100003}) {
    const auto values = uneven(count);
    const double expected = reduce(real_addition<double>{}, values);
    EXPECT_EQ(reduce(real_addition<double>{}, values, in_order{}), expected);
    EXPECT_EQ(reduce(real_addition<double>{}, values, backwards_on_threads{3}), expected);
    EXPECT_EQ(reduce(real_addition<double>{}, values, on_executor), expected);
    const auto scan = inclusive_scan(real_addition<double>{}, values);
    EXPECT_EQ(inclusive_scan(real_addition<double>{}, values, backwards_on_threads{3}), scan);
    EXPECT_EQ(inclusive_scan(real_addition<double>{}, values, on_executor), scan);
  }
}

TEST(SegmentedReduce, ReducesEachSegmentAsIfAlone) {
  const auto values = uneven(4000);
  const std::vector<std::size_t> offsets{0, 0, 1, 8, 8, 2000, 3999};
  const auto got = segmented_reduce(real_addition<double>{}, values, offsets);
  ASSERT_EQ(got.size(), 6u);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const std::vector<double> alone(values.begin() + static_cast<std::ptrdiff_t>(offsets[s]),
                                    values.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]));
    EXPECT_EQ(got[s], reduce(real_addition<double>{}, alone));
  }
  EXPECT_TRUE(std::signbit(got[0]));  // the identity, −0
  EXPECT_EQ(segmented_reduce(real_addition<double>{}, values, offsets, backwards_on_threads{3}), got);
  // Long segments are shared among tasks of their own, and empty ones cost a task's share too.
  const auto many = uneven(700000);
  const std::vector<std::size_t> lengths{0, 3, 600003, 600003, 700000};
  const auto shared = segmented_reduce(real_addition<double>{}, many, lengths, backwards_on_threads{3});
  for (std::size_t s = 0; s + 1 < lengths.size(); ++s) {
    const auto alone = std::span(many).subspan(lengths[s], lengths[s + 1] - lengths[s]);
    EXPECT_EQ(shared[s], reduce(real_addition<double>{}, alone));
  }
  EXPECT_EQ(segmented_reduce(integer_addition<int>{}, std::vector<int>{}, std::vector<std::size_t>(40001)),
            std::vector<int>(40000));
  EXPECT_EQ(segmented_reduce(disjunction{}, std::vector<bool>{false, false, true}, {0, 2, 2, 3}),
            (std::vector<bool>{false, false, true}));
  EXPECT_THROW(segmented_reduce(real_addition<double>{}, values, {}), shoal::bad_argument);
  EXPECT_THROW(segmented_reduce(real_addition<double>{}, values, {0, 5, 4}), shoal::bad_argument);
  EXPECT_THROW(segmented_reduce(real_addition<double>{}, values, {0, 4001}), shoal::bad_argument);
}

// Lengths up to and past those that are padded with the identity, right up to the last value, beside every runner.
template <class Structure>
void expect_each_as_if_alone(const Structure& structure, const std::vector<value_of<Structure>>& values) {
  std::vector<std::size_t> offsets{0};
  for (std::size_t s = 0; offsets.back() < values.size(); ++s) {
    offsets.push_back(std::min(values.size(), offsets.back() + s * 2654435761u % 4294967291u % 41));
  }
  for (const std::size_t kept : {offsets.size(), offsets.size() - 1}) {
    offsets.resize(kept);
    const auto got = segmented_reduce(structure, values, offsets);
    ASSERT_EQ(got.size() + 1, offsets.size());
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
      const auto alone = reduce(structure, std::span(values).subspan(offsets[s], offsets[s + 1] - offsets[s]));
      ASSERT_EQ(std::memcmp(&got[s], &alone, sizeof alone), 0) << s;
    }
    std::vector<value_of<Structure>> into(got.size());
    segmented_reduce_into(structure, values, offsets, into, backwards_on_threads{3});
    ASSERT_EQ(std::memcmp(into.data(), got.data(), got.size() * sizeof got[0]), 0);
  }
}

TEST(SegmentedReduce, PadsShortSegmentsWithoutATrace) {
  const auto values = uneven(70011);
  expect_each_as_if_alone(real_addition<double>{}, values);
  expect_each_as_if_alone(minimum<double>{}, values);
  expect_each_as_if_alone(real_multiplication<float>{}, std::vector<float>(values.begin(), values.end()));
  std::vector<affine_map<double>> maps;
  for (const double x : values) maps.push_back({std::cos(x), x});
  expect_each_as_if_alone(affine_maps<reals<double>>{}, maps);
  const std::vector<double> signs{-0.0, 0.0, -0.0, -0.0};
  std::vector<double> zeros(2);
  segmented_reduce_into(real_addition<double>{}, signs, {0, 2, 4}, zeros);
  EXPECT_FALSE(std::signbit(zeros[0]));
  EXPECT_TRUE(std::signbit(zeros[1]));
}

TEST(SegmentedReduce, NamesTheFirstOffsetThatCannotBe) {
  std::vector<std::size_t> offsets(300000);
  for (std::size_t s = 0; s < offsets.size(); ++s) offsets[s] = s;
  offsets[70000] = offsets[200000] = 5;
  const std::vector<int> values(offsets.size());
  std::vector<int> result(offsets.size() - 1);
  const auto refusal = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const shoal::bad_argument& refused) {
      return refused.what();
    }
    return "nothing was refused";
  };
  const integer_addition<int> sum;
  EXPECT_NE(refusal([&] { segmented_reduce(sum, values, offsets, backwards_on_threads{3}); }).find("offset 70000 is 5"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              segmented_reduce_into(sum, values, {0, 1}, result);
            }).find("299999 places"),
            std::string::npos);
}

TEST(Power, RepeatsTheOperation) {
  EXPECT_EQ(power(concatenation{}, "ab", 5), "ababababab");
  EXPECT_EQ(power(concatenation{}, "ab", 0), "");
  EXPECT_EQ(power(integer_multiplication<std::uint64_t>{}, 3, 40), 12157665459056928801u);
}

struct by_value {
  using value_type = int;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};
  int combine(int a, int b) const { return a + b; }
  int identity() const { return 0; }
};

TEST(Adapters, GiveTheOtherFormOfTheOperation) {
  const auto completed = complete(by_value{});
  int into = 3;
  completed.combine_into(into, 4);
  EXPECT_EQ(into, 7);
  completed.reset(into);
  EXPECT_EQ(into, 0);
  EXPECT_EQ(completed.bytes(), sizeof(int));
  EXPECT_EQ(complete(concatenation{}).combine("a", "b"), "ab");
  EXPECT_EQ(complete(top_k<int>(5)).bytes(), 5 * sizeof(located<int>));
}

// Rows folded into a structure of this library, by the folder that the estimators use.
struct moments_body {
  struct scratch {};
  void operator()(const shoal::row_block<double>& block, const shoal::team_member&, scratch&,
                  std::tuple<moments_value, std::vector<located<double>>>& into) const {
    const product structure{moments{}, top_k<double>(3)};
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      const double x = block.rows(i, 0);
      structure.combine_into(into, {moments::of(x), {{x, block.first + i}}});
    }
  }
};

struct moments_and_top_k : product<moments, top_k<double>> {
  using product::product;
  std::size_t bytes() const { return sizeof(moments_value) + 3 * sizeof(located<double>); }
};

TEST(Adapters, LetAStructureFoldRows) {
  std::vector<double> values(50021);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1009);
  const shoal::view_source<double> source({values.data(), values.size(), 1});
  const complete structure(moments_and_top_k(moments{}, top_k<double>(3)));
  const auto one = shoal::make_sequential();
  const auto expected = shoal::fold<double>({one.get(), 0, {}}, {&source}, structure, moments_body{});
  const auto pool = shoal::make_threads(3);
  EXPECT_EQ(shoal::fold<double>({pool.get(), 0, {}}, {&source}, structure, moments_body{}), expected);
  std::vector<moments_value> parts;
  for (const double x : values) parts.push_back(moments::of(x));
  const moments_value by_tree = reduce(moments{}, parts);
  EXPECT_EQ(std::get<0>(expected).weight, by_tree.weight);
  EXPECT_NEAR(std::get<0>(expected).squares, by_tree.squares, 1e-11 * by_tree.squares);
  // 1008 occurs every 1009 rows; the first three of them win.
  for (const auto& entry : std::get<1>(expected)) {
    EXPECT_EQ(entry.key, 1008);
    EXPECT_LT(entry.index, 3 * 1009u);
  }
}

}  // namespace
