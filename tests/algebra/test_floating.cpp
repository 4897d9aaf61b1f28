// Floating-point structures: what holds exactly, what up to a bound, and what not at all.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");

// Any sign and significand with an exponent from −range to range: products of three stay normal for range ≤ 300.
rc::Gen<double> finite_number(int range) {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange<std::int64_t>(-(1LL << 53), 1LL << 53), rc::gen::inRange(-range, range + 1)),
      [](const auto& parts) { return std::ldexp(static_cast<double>(std::get<0>(parts)), std::get<1>(parts) - 53); });
}

TEST(Reals, AreAField) {
  expect_property("field", [] {
    const auto samples = *rc::gen::container<std::vector<double>>(4, finite_number(100));
    const law_report report = check_field(reals<double>{}, samples);
    if (!report) RC_FAIL(report.message());
  });
  expect_property("field in float32", [] {
    const auto wide = *rc::gen::container<std::vector<double>>(4, finite_number(12));
    const std::vector<float> samples(wide.begin(), wide.end());
    const law_report report = check_field(reals<float>{}, samples);
    if (!report) RC_FAIL(report.message());
  });
}

TEST(Reals, AddAssociativelyOnlyUpToRounding) {
  const real_addition<double> addition;
  const double left = addition.combine(addition.combine(1e16, -1e16), 1);
  const double right = addition.combine(1e16, addition.combine(-1e16, 1));
  EXPECT_EQ(left, 1);
  EXPECT_EQ(right, 0);
  static_assert(real_addition<double>::laws.associative == law::approximate);
  static_assert(real_addition<double>::laws.commutative == law::exact);
}

TEST(Reals, HaveMinusZeroForTheirExactIdentity) {
  const double e = real_addition<double>{}.identity();
  for (const double x : {0.0, -0.0, 1.0, -2.5, infinity, std::numeric_limits<double>::denorm_min()})
    EXPECT_EQ(std::bit_cast<std::uint64_t>(e + x), std::bit_cast<std::uint64_t>(x));
  // Plus zero would not do: it takes the sign of −0 away.
  const auto bits = [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  };
  const std::vector<double> samples{0.0, -0.0, 1.0};
  EXPECT_TRUE(check_monoid(with_equality(real_addition<double>{}, bits), samples));
  struct plus_zero : real_addition<double> {
    double identity() const { return 0.0; }
  };
  const law_report report = check_monoid(with_equality(plus_zero{}, bits), samples);
  ASSERT_TRUE(report.failed("left identity"));
  EXPECT_EQ(report.failure_of("left identity")->elements, (std::vector<std::size_t>{1}));
}

TEST(Reals, NaNBreaksTheLatticeOfMinimumAndMaximum) {
  const std::vector<double> clean{-infinity, -1, -0.0, 0.0, 2, infinity};
  EXPECT_TRUE(check_declared(minimum<double>{}, clean));
  EXPECT_TRUE(check_declared(maximum<double>{}, clean));
  // NaN under an equality that lets NaN equal itself, so that only the operation is on trial.
  const auto same = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  std::vector<double> dirty = clean;
  dirty.push_back(not_a_number);
  const law_report report = check_declared(with_equality(minimum<double>{}, same), dirty);
  EXPECT_TRUE(report.failed("commutativity"));
  EXPECT_TRUE(report.failed("left identity"));
  EXPECT_TRUE(report.failed("associativity"));
  EXPECT_TRUE(check_declared(argmin<double>{}, std::vector<located<double>>{{1, 0}, {not_a_number, 1}, {2, 2}})
                  .failed("associativity"));
}

TEST(Sums, AreAnAbelianGroupComponentByComponent) {
  expect_property("componentwise sums", [] {
    const auto size = *rc::gen::inRange<std::size_t>(0, 9);
    const auto samples = *rc::gen::container<std::vector<std::vector<double>>>(
        4, rc::gen::container<std::vector<double>>(size, finite_number(60)));
    const law_report report = check_abelian_group(componentwise_sum<double>(size), samples);
    if (!report) RC_FAIL(report.message());
  });
  const componentwise_sum<std::int32_t> counts(3);
  EXPECT_TRUE(check_abelian_group(counts, std::vector<std::vector<std::int32_t>>{{1, 2, 3}, {0, 0, 0}, {-4, 5, 7}}));
  EXPECT_EQ(counts.identity(), (std::vector<std::int32_t>{0, 0, 0}));
  std::vector<std::int32_t> into{1, 2};
  EXPECT_THROW(counts.combine_into(into, {1, 2, 3}), shoal::bad_argument);
}

TEST(LogSumExp, GuardsInfinities) {
  const log_sum_exp<double> sum;
  EXPECT_EQ(sum.combine(-infinity, -infinity), -infinity);
  EXPECT_EQ(sum.combine(infinity, infinity), infinity);
  EXPECT_EQ(sum.combine(-infinity, 3), 3);
  EXPECT_EQ(sum.combine(1000, 1000), 1000 + std::log(2.0));
  EXPECT_EQ(sum.combine(-1e5, -2e5), -1e5);
  EXPECT_DOUBLE_EQ(sum.combine(std::log(3.0), std::log(4.0)), std::log(7.0));
  EXPECT_EQ(reduce(sum, std::vector<double>{}), -infinity);
}

TEST(LogSumExp, IsACommutativeMonoidAndTheSumOfASemiring) {
  expect_property("log-sum-exp", [] {
    auto samples = *rc::gen::container<std::vector<double>>(4, finite_number(11));
    samples.push_back(-infinity);
    const law_report report = check_commutative_monoid(log_sum_exp<double>{}, samples);
    if (!report) RC_FAIL(report.message());
    const law_report semiring_report = check_unital_semiring(log_semiring<double>{}, samples);
    if (!semiring_report) RC_FAIL(semiring_report.message());
  });
  expect_property("log-sum-exp in float32", [] {
    const auto wide = *rc::gen::container<std::vector<double>>(4, finite_number(7));
    const std::vector<float> samples(wide.begin(), wide.end());
    const law_report report = check_commutative_monoid(log_sum_exp<float>{}, samples);
    if (!report) RC_FAIL(report.message());
  });
}

TEST(LogSumExp, WithoutTheGuardIsNotAMonoid) {
  struct unguarded : log_sum_exp<double> {
    double combine(double a, double b) const {
      const double greater = std::max(a, b);
      return greater + std::log(std::exp(a - greater) + std::exp(b - greater));
    }
  };
  const std::vector<double> samples{-infinity, 0};
  EXPECT_TRUE(check_monoid(unguarded{}, samples).failed("left identity"));
}

// Two passes in long double: the reference for moments.
moments_value two_pass(const std::vector<double>& x, const std::vector<double>& weights) {
  long double weight = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    weight += weights[i];
    sum += static_cast<long double>(weights[i]) * x[i];
  }
  const long double average = sum / weight;
  for (std::size_t i = 0; i < x.size(); ++i) squares += weights[i] * (x[i] - average) * (x[i] - average);
  return {static_cast<double>(weight), static_cast<double>(average), static_cast<double>(squares)};
}

TEST(Moments, AgreeWithTwoPassesFarFromTheOrigin) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.5, 2);
  for (const std::size_t count : {1, 2, 7, 8, 9, 511, 512, 513, 10007}) {
    for (const double offset : {0.0, 1e6, -1e9}) {
      std::vector<double> x(count), weights(count);
      std::vector<moments_value> parts(count);
      for (std::size_t i = 0; i < count; ++i) {
        x[i] = offset + normal(engine);
        weights[i] = uniform(engine);
        parts[i] = moments::of(x[i], weights[i]);
      }
      const moments_value expected = two_pass(x, weights);
      const moments_value got = reduce(moments{}, parts);
      EXPECT_NEAR(got.weight, expected.weight, 1e-13 * expected.weight);
      EXPECT_NEAR(got.mean, expected.mean, 1e-15 * (std::abs(offset) + 10));
      // A mean is off by a rounding of the offset, and M2 by as much relative to one standard deviation. Σx² − n·mean²
      // would be off by the square of the offset instead.
      const double allowed = (1e-12 + 1e-15 * std::abs(offset)) * expected.squares + 1e-15;
      EXPECT_NEAR(got.squares, expected.squares, allowed) << count << " " << offset;
      EXPECT_NEAR(reduce_unordered(moments{}, parts).squares, expected.squares, allowed) << count << " " << offset;
    }
  }
}

TEST(Moments, DoWhatHandsDo) {
  const moments monoid;
  const auto three = reduce(monoid, std::vector{moments::of(1), moments::of(2), moments::of(6)});
  EXPECT_EQ(three, (moments_value{3, 3, 14}));
  EXPECT_EQ(reduce(monoid, std::vector<moments_value>{}), monoid.identity());
  EXPECT_EQ(combine(monoid, moments::of(5, 0), moments::of(7, 0)).weight, 0);  // no division by a weight of zero
  // A duplicate is a weight of two.
  EXPECT_EQ(combine(monoid, moments::of(4), moments::of(4)), moments::of(4, 2));
}

TEST(Moments, AreACommutativeMonoidUpToTheirBound) {
  expect_property("moments", [] {
    const auto numbers = *rc::gen::container<std::vector<double>>(4, finite_number(30));
    const auto weights = *rc::gen::container<std::vector<int>>(4, rc::gen::inRange(0, 5));
    const double offset = *rc::gen::element(0.0, 1e6, 1e15);
    std::vector<moments_value> samples{moments{}.identity()};
    for (std::size_t i = 0; i < numbers.size(); ++i)
      samples.push_back(combine(moments{}, moments::of(numbers[i] + offset, weights[i]), moments::of(offset, 2)));
    const law_report report = check_commutative_monoid(moments{}, samples);
    if (!report) RC_FAIL(report.message());
  });
}

TEST(Moments, OfVectorsHoldTheScatterOfEveryPair) {
  const vector_moments monoid(2);
  std::vector<vector_moments_value> parts;
  for (const auto& [x, y] : {std::pair{1.0, 10.0}, {2.0, 20.0}, {6.0, 0.0}}) parts.push_back(monoid.of({x, y}));
  const auto total = reduce(monoid, parts);
  EXPECT_EQ(total.weight, 3);
  EXPECT_EQ(total.mean, (std::vector<double>{3, 10}));
  EXPECT_EQ(total.scatter, (std::vector<double>{14, -40, -40, 200}));
  const law_report report = check_commutative_monoid(monoid, parts);
  EXPECT_TRUE(report.passed()) << report.message();
  EXPECT_THROW(monoid.of({1, 2, 3}), shoal::bad_argument);

  expect_property("vector moments", [] {
    const vector_moments three(3);
    std::vector<vector_moments_value> samples{three.identity()};
    for (int i = 0; i < 4; ++i) {
      samples.push_back(combine(three, three.of(*rc::gen::container<std::vector<double>>(3, finite_number(20))),
                                three.of({1e6, -1e3, 0}, 3)));
    }
    const law_report laws = check_commutative_monoid(three, samples);
    if (!laws) RC_FAIL(laws.message());
  });
}

TEST(Moments, AboutACommonCentreFormAGroup) {
  const centred_sums sums(100);
  std::vector<centred_sums_value> samples;
  for (const double x : {99.0, 100.0, 103.5, 120.25}) samples.push_back(sums.of(x));
  EXPECT_TRUE(check_abelian_group(sums, samples));
  const auto all = reduce(sums, samples);
  const auto without_last = combine(sums, all, sums.inverse(samples.back()));
  EXPECT_EQ(without_last, reduce(sums, std::vector(samples.begin(), samples.end() - 1)));
  const moments_value expected =
      reduce(moments{}, std::vector{moments::of(99), moments::of(100), moments::of(103.5), moments::of(120.25)});
  EXPECT_DOUBLE_EQ(sums.to_moments(all).mean, expected.mean);
  EXPECT_NEAR(sums.to_moments(all).squares, expected.squares, 1e-12 * expected.squares);
}

TEST(RealVectors, AreAVectorSpace) {
  expect_property("vector space", [] {
    const auto scalars = *rc::gen::container<std::vector<double>>(3, finite_number(60));
    const auto vectors = *rc::gen::container<std::vector<std::vector<double>>>(
        3, rc::gen::container<std::vector<double>>(5, finite_number(60)));
    const law_report report = check_vector_space(real_vectors<double>(5), scalars, vectors);
    if (!report) RC_FAIL(report.message());
  });
  // A scaling that forgets one component is caught by name.
  struct forgetful : real_vectors<double> {
    using real_vectors<double>::real_vectors;
    std::vector<double> scale(double s, const std::vector<double>& v) const {
      std::vector<double> result = real_vectors<double>::scale(s, v);
      result[1] = v[1];
      return result;
    }
  };
  const law_report report =
      check_vector_space(forgetful(2), std::vector<double>{2, 3}, std::vector<std::vector<double>>{{1, 1}, {0, 5}});
  EXPECT_TRUE(report.failed("distributivity over scalars"));
  EXPECT_FALSE(report.failed("unit"));
}

struct pairs_modulo_8 {
  static constexpr module_laws laws{law::exact, law::exact, law::exact, law::exact};
  integers<std::uint8_t, 3> scalars() const { return {}; }
  product<integer_addition<std::uint8_t, 3>, integer_addition<std::uint8_t, 3>> vectors() const { return {}; }
  std::tuple<std::uint8_t, std::uint8_t> scale(std::uint8_t s, std::tuple<std::uint8_t, std::uint8_t> v) const {
    const integer_multiplication<std::uint8_t, 3> times;
    return {times.combine(s, std::get<0>(v)), times.combine(s, std::get<1>(v))};
  }
};

TEST(Modules, NeedARingAndAVectorSpaceNeedsAField) {
  // Z/8 acting on pairs of itself: a unitary module, not a vector space.
  static_assert(unitary_module<pairs_modulo_8> && !vector_space<pairs_modulo_8>);
  static_assert(vector_space<real_vectors<double>>);
  std::vector<std::tuple<std::uint8_t, std::uint8_t>> vectors;
  for (std::uint8_t i = 0; i < 8; ++i) vectors.emplace_back(i, static_cast<std::uint8_t>((3 * i + 1) % 8));
  const law_report report = check_unitary_module(pairs_modulo_8{}, integers<std::uint8_t, 3>{}.elements(), vectors);
  EXPECT_TRUE(report.passed()) << report.message();
}

TEST(Summary, CountsAveragesAndSpreads) {
  const std::vector<double> x{1, 2, 6};
  EXPECT_EQ(count(reals<double>{}, x), 3);
  EXPECT_DOUBLE_EQ(mean(reals<double>{}, x), 3);
  EXPECT_DOUBLE_EQ(variance(reals<double>{}, x), 14.0 / 3);
  EXPECT_THROW(mean(reals<double>{}, std::vector<double>{}), shoal::bad_argument);
  EXPECT_EQ(mean(real_vectors<double>(2), std::vector<std::vector<double>>{{1, 4}, {3, 0}}),
            (std::vector<double>{2, 2}));
  // A count in a ring is modulo that ring.
  EXPECT_EQ(count(integers<std::uint8_t>{}, std::vector<int>(300)), 300 - 256);
}

}  // namespace
