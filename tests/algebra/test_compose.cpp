// Structures built from structures: each keeps the laws that it computes from its parts.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

TEST(Product, FoldsSeveralStatisticsInOnePass) {
  const product<real_addition<double>, maximum<double>, moments> together;
  std::vector<std::tuple<double, double, moments_value>> rows;
  for (const double x : {1.0, 2.0, 6.0}) rows.emplace_back(x, x, moments::of(x));
  const auto [sum, greatest, spread] = reduce(together, rows);
  EXPECT_EQ(sum, 9);
  EXPECT_EQ(greatest, 6);
  EXPECT_EQ(spread, (moments_value{3, 3, 14}));
  const law_report report = check_commutative_monoid(together, rows);
  EXPECT_TRUE(report.passed()) << report.message();
}

TEST(Product, HasTheWeakestLawsOfItsParts) {
  using sums_and_strings = product<real_addition<double>, concatenation>;
  static_assert(sums_and_strings::laws.associative == law::approximate);
  static_assert(monoid<sums_and_strings> && !commutative_magma<sums_and_strings> && !group<sums_and_strings>);
  static_assert(abelian_group<product<integer_addition<int>, exclusive_or>>);
  static_assert(semilattice<product<minimum<int>, maximum<int>>>);
  // (1, 1)·(0, 2) under (min, min) is (0, 1): neither operand.
  static_assert(product<minimum<int>, minimum<int>>::laws.selective == law::unclaimed);
  static_assert(abelian_group<product<>>);
  const product<integer_addition<int>, exclusive_or> group_pair;
  EXPECT_TRUE(check_abelian_group(group_pair, std::vector<std::tuple<int, bool>>{{1, true}, {-7, false}, {0, true}}));
  const product<concatenation, minimum<int>> words;
  EXPECT_TRUE(check_declared(words, std::vector<std::tuple<std::string, int>>{{"a", 1}, {"b", 0}, {"", 5}}));
}

TEST(Product, MayHoldStructuresWithRunTimeShapes) {
  const product both{componentwise_sum<double>(2), top_k<double>(1)};
  auto value = both.identity();
  both.combine_into(value, {{1, 2}, {{5, 0}}});
  both.combine_into(value, {{1, 2}, {{7, 1}}});
  EXPECT_EQ(std::get<0>(value), (std::vector<double>{2, 4}));
  EXPECT_EQ(std::get<1>(value), (std::vector<located<double>>{{7, 1}}));
}

TEST(Pointwise, HoldsTruthValuesToo) {
  const pointwise<disjunction> sets(3);
  const std::vector<std::vector<bool>> samples{
      {true, false, false}, {false, true, true}, {false, false, false}, {true, true, true}};
  EXPECT_TRUE(check_declared(sets, samples));
  EXPECT_EQ(combine(sets, samples[0], samples[1]), samples[3]);
}

TEST(FunctionValued, CombinesResults) {
  const function_valued<double, real_addition<double>> functions({-1, 0, 0.5, 2});
  using function = std::function<double(const double&)>;
  const function sine = [](double x) { return std::sin(x); }, square = [](double x) { return x * x; },
                 one_third = [](double) { return 1.0 / 3; };
  EXPECT_EQ(functions.combine(sine, square)(2), std::sin(2) + 4);
  const law_report report = check_abelian_group(functions, std::vector<function>{sine, square, one_third});
  EXPECT_TRUE(report.passed()) << report.message();
  // Equality is agreement at the points: functions that differ elsewhere are the same here.
  const function other = [](double x) { return x == 17 ? 0 : x * x; };
  EXPECT_TRUE(functions.equal(square, other));
  EXPECT_FALSE(functions.equal(square, sine));
}

TEST(Polynomials, OverIntegersAreARing) {
  const polynomials<integers<std::int32_t>> ring;
  static_assert(commutative_ring_with_unity<polynomials<integers<std::int32_t>>>);
  // (1 + x)(1 − x) = 1 − x².
  EXPECT_EQ(multiply(ring, {1, 1}, {1, -1}), (std::vector<std::int32_t>{1, 0, -1}));
  EXPECT_EQ(add(ring, {1, 2}, {0, -2}), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(power(ring.multiplication(), {1, 1}, 4), (std::vector<std::int32_t>{1, 4, 6, 4, 1}));
  EXPECT_EQ(ring.evaluate({1, 0, -1}, 3), -8);
  const std::vector<std::vector<std::int32_t>> samples{{}, {1}, {0, 1}, {3, -2, 5}, {-7, 0, 0, 2}};
  const law_report report = check_commutative_ring_with_unity(ring, samples);
  EXPECT_TRUE(report.passed()) << report.message();
}

TEST(Polynomials, EvaluationRespectsBothOperations) {
  const polynomials<integers<std::uint32_t>> ring;
  using polynomial = std::vector<std::uint32_t>;
  expect_property("evaluation", [&] {
    polynomial p = *rc::gen::arbitrary<polynomial>(), q = *rc::gen::arbitrary<polynomial>();
    const auto x = *rc::gen::arbitrary<std::uint32_t>();
    RC_ASSERT(ring.evaluate(add(ring, p, q), x) == ring.evaluate(p, x) + ring.evaluate(q, x));
    RC_ASSERT(ring.evaluate(multiply(ring, p, q), x) == ring.evaluate(p, x) * ring.evaluate(q, x));
  });
}

TEST(Polynomials, OverZeroDivisorsLoseDegree) {
  // 2·2 = 0 modulo 4, so (2x)² = 0: the product is trimmed to the zero polynomial.
  const polynomials<integers<std::uint8_t, 2>> ring;
  EXPECT_TRUE(multiply(ring, {0, 2}, {0, 2}).empty());
  EXPECT_TRUE(check_commutative_ring_with_unity(ring, std::vector<std::vector<std::uint8_t>>{{}, {2}, {0, 2}, {1, 3}}));
}

TEST(Matrices, OverIntegersAreARingThatDoesNotCommute) {
  const matrices<integers<std::int32_t>> ring(2);
  static_assert(ring_with_unity<matrices<integers<std::int32_t>>>);
  static_assert(!commutative_ring_with_unity<matrices<integers<std::int32_t>>>);
  const std::vector<std::vector<std::int32_t>> samples{{0, 1, 0, 0}, {0, 0, 1, 0}, {2, -3, 5, 7}, {1, 1, 1, 0}};
  EXPECT_TRUE(check_ring_with_unity(ring, samples));
  EXPECT_NE(multiply(ring, samples[0], samples[1]), multiply(ring, samples[1], samples[0]));
  // Fibonacci numbers are powers of ((1 1) (1 0)).
  EXPECT_EQ(power(ring.multiplication(), samples[3], 30)[1], 832040);
  EXPECT_THROW(multiply(ring, {1, 2, 3}, samples[0]), shoal::bad_argument);
}

TEST(Matrices, OverTruthValuesSayWhatCanBeReached) {
  const matrices<boolean_semiring> ring(4);
  // 0 → 1 → 2, and 3 alone; with loops, so that powers reach up to so many steps.
  const std::vector<bool> edges{1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  const auto reach = power(ring.multiplication(), edges, 3);
  EXPECT_EQ(reach, (std::vector<bool>{1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(check_unital_semiring(ring, std::vector<std::vector<bool>>{edges, reach, std::vector<bool>(16)}));
}

template <class Length>
std::vector<Length> floyd_warshall(std::vector<Length> distance, std::size_t n) {
  constexpr Length none = minimum<Length>{}.identity();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (distance[i * n + k] != none && distance[k * n + j] != none)
          distance[i * n + j] = std::min<Length>(distance[i * n + j], distance[i * n + k] + distance[k * n + j]);
  return distance;
}

TEST(Tropical, PowersAreShortestPaths) {
  expect_property("shortest paths", [] {
    const auto n = *rc::gen::inRange<std::size_t>(1, 9);
    constexpr int none = minimum<int>{}.identity();
    std::vector<int> edges(n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
      const int length = *rc::gen::inRange(0, 30);
      edges[i] = i % (n + 1) == 0 ? 0 : length < 15 ? none : length;
    }
    const matrices<tropical_semiring<int>> ring(n);
    RC_ASSERT(power(ring.multiplication(), edges, n) == floyd_warshall(edges, n));
  });
  // By hand: 0 →(4) 1 →(−2) 2 →(1) 0, and 0 →(3) 2.
  const double none = std::numeric_limits<double>::infinity();
  const std::vector<double> edges{0, 4, 3, none, 0, -2, 1, none, 0};
  const matrices<tropical_semiring<double>> ring(3);
  EXPECT_EQ(power(ring.multiplication(), edges, 2), (std::vector<double>{0, 4, 2, -1, 0, -2, 1, 5, 0}));
  EXPECT_EQ(power(ring.multiplication(), edges, 3), floyd_warshall(edges, 3));
}

TEST(Tropical, IsASemiringWithInfinityForZero) {
  const std::vector<int> whole{0, 1, -5, 100, std::numeric_limits<int>::max()};
  EXPECT_TRUE(check_unital_semiring(tropical_semiring<int>{}, whole));
  const std::vector<double> real{0, 0.1, 0.7, 1e9, std::numeric_limits<double>::infinity()};
  const law_report report = check_unital_semiring(tropical_semiring<double>{}, real);
  EXPECT_TRUE(report.passed()) << report.message();
  static_assert(!ring<tropical_semiring<double>>);
  const matrices<tropical_semiring<int>> squares(2);
  EXPECT_TRUE(check_unital_semiring(
      squares, std::vector<std::vector<int>>{{0, 3, whole[4], 0}, {1, 2, 3, 4}, {whole[4], whole[4], whole[4], 5}}));
}

TEST(Affine, AScanIsTheRecurrence) {
  const affine_maps<integers<std::uint64_t>> maps;
  const affine_maps<reals<double>> real_maps;
  for (const std::size_t count : {0, 1, 2, 1023, 1024, 1025, 5003}) {
    std::vector<affine_map<std::uint64_t>> steps(count);
    std::vector<affine_map<double>> real_steps(count);
    for (std::size_t i = 0; i < count; ++i) {
      steps[i] = {6364136223846793005u + 2 * i, i};
      real_steps[i] = {std::sin(static_cast<double>(i)), std::cos(static_cast<double>(i))};
    }
    const auto scan = inclusive_scan(maps, steps);
    const auto real_scan = inclusive_scan(real_maps, real_steps);
    std::uint64_t x = 42;
    double real = 0.75;
    for (std::size_t i = 0; i < count; ++i) {
      x = steps[i].slope * x + steps[i].offset;
      real = real_steps[i].slope * real + real_steps[i].offset;
      ASSERT_EQ(maps.apply(scan[i], 42), x) << i;
      ASSERT_NEAR(real_maps.apply(real_scan[i], 0.75), real, 1e-12) << i;
    }
  }
}

TEST(Affine, MapsComposeAndDoNotCommute) {
  const affine_maps<integers<int>> maps;
  static_assert(monoid<affine_maps<integers<int>>> && !commutative_magma<affine_maps<integers<int>>>);
  // Double, then add 3; add 3, then double.
  EXPECT_EQ(maps.combine({2, 0}, {1, 3}), (affine_map<int>{2, 3}));
  EXPECT_EQ(maps.combine({1, 3}, {2, 0}), (affine_map<int>{2, 6}));
  EXPECT_TRUE(check_monoid(maps, std::vector<affine_map<int>>{{2, 0}, {1, 3}, {0, 5}, {-4, 7}}));
  expect_property("affine maps of reals", [] {
    std::vector<affine_map<double>> samples;
    for (int i = 0; i < 4; ++i)
      samples.push_back({*rc::gen::inRange(-1000, 1000) / 7.0, *rc::gen::inRange(-1000, 1000) / 11.0});
    const law_report report = check_monoid(affine_maps<reals<double>>{}, samples);
    if (!report) RC_FAIL(report.message());
  });
}

}  // namespace
