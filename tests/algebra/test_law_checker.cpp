// The law checker itself: it must reject false claims, name what failed and where, and hold values of any kind.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

namespace {

using namespace shoal::algebra;

constexpr operation_laws all_exact{law::exact, law::exact, law::exact, law::exact, law::exact, law::exact};

// A mean without its weight: the midpoint. It claims to associate.
struct mean_alone {
  using value_type = double;
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .idempotent = law::exact};
  double combine(double a, double b) const { return (a + b) / 2; }
};

TEST(LawChecker, RejectsThatTheMeanAloneAssociates) {
  const std::vector<double> samples{0, 4, 8};
  const law_report report = check_semigroup(mean_alone{}, samples);
  EXPECT_FALSE(report.passed());
  ASSERT_TRUE(report.failed("associativity"));
  const law_failure& failure = *report.failure_of("associativity");
  // (0·0)·4 = 2 and 0·(0·4) = 1 is the first of all triples that breaks it.
  EXPECT_EQ(failure.elements, (std::vector<std::size_t>{0, 0, 1}));
  EXPECT_TRUE(failure.exact);
  EXPECT_NE(failure.message.find("a = #0 0, b = #0 0, c = #1 4: 2 against 1"), std::string::npos) << failure.message;
  EXPECT_NE(report.message().find("associativity (exact) fails"), std::string::npos) << report.message();
  EXPECT_GT(failure.count, 1u);
  // What is true of it passes: it commutes and is idempotent.
  EXPECT_TRUE(check_commutative_magma(mean_alone{}, samples));
  EXPECT_EQ(check_declared(mean_alone{}, samples).failures.size(), 1u);
}

// Integer subtraction claims everything.
struct subtraction {
  using value_type = int;
  static constexpr operation_laws laws = all_exact;
  int combine(int a, int b) const { return a - b; }
  int identity() const { return 0; }
  int inverse(int a) const { return -a; }
};

TEST(LawChecker, NamesEachLawThatFails) {
  const std::vector<int> samples{0, 1, 2};
  const law_report report = check_declared(subtraction{}, samples);
  for (const char* failed : {"associativity", "commutativity", "left identity", "left inverse", "right inverse",
                             "idempotence", "selectivity"})
    EXPECT_TRUE(report.failed(failed)) << failed;
  EXPECT_FALSE(report.failed("right identity"));  // a − 0 = a
  EXPECT_FALSE(report.failed("closure"));
}

TEST(LawChecker, TriesOnlyTheLawsOfTheConcept) {
  const std::vector<int> samples{0, 1, 2};
  EXPECT_TRUE(check_magma(subtraction{}, samples));
  EXPECT_FALSE(check_semigroup(subtraction{}, samples).failed("left identity"));
  EXPECT_TRUE(check_monoid(subtraction{}, samples).failed("left identity"));
  EXPECT_FALSE(check_monoid(subtraction{}, samples).failed("left inverse"));
  EXPECT_TRUE(check_group(subtraction{}, samples).failed("left inverse"));
  EXPECT_FALSE(check_group(subtraction{}, samples).failed("commutativity"));
  EXPECT_TRUE(check_abelian_group(subtraction{}, samples).failed("commutativity"));
  EXPECT_TRUE(check_semilattice(subtraction{}, samples).failed("idempotence"));
}

// A finite set that its operation leaves: addition of 0, 1, 2 without the carry taken off.
struct leaking {
  using value_type = int;
  static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};
  int combine(int a, int b) const { return a + b; }
  int identity() const { return 0; }
  std::vector<int> elements() const { return {0, 1, 2}; }
};

TEST(LawChecker, ChecksClosureOfAFiniteSet) {
  const law_report report = check_monoid(leaking{});
  ASSERT_TRUE(report.failed("closure"));
  EXPECT_EQ(report.failure_of("closure")->elements, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(report.failure_of("closure")->count, 3u);
  EXPECT_EQ(report.failures.size(), 1u);
}

// combine and combine_into that disagree.
struct two_faced {
  using value_type = int;
  static constexpr operation_laws laws{.associative = law::exact};
  int combine(int a, int b) const { return a + b; }
  void combine_into(int& into, int from) const { into += from + (from == 7 ? 1 : 0); }
};

TEST(LawChecker, FindsTwoFormsOfAnOperationThatDiffer) {
  const std::vector<int> samples{1, 7};
  const law_report report = check_magma(two_faced{}, samples);
  ASSERT_TRUE(report.failed("one operation"));
  EXPECT_EQ(report.failure_of("one operation")->elements, (std::vector<std::size_t>{0, 1}));
}

TEST(LawChecker, TellsExactFromApproximate) {
  const std::vector<double> samples{1e16, -1e16, 1, 0.1, 0.2, 0.3};
  EXPECT_NE((1e16 + -1e16) + 1, 1e16 + (-1e16 + 1));
  // As it declares itself, approximately associative, it passes.
  EXPECT_TRUE(check_abelian_group(real_addition<double>{}, samples));
  // Claiming exactness fails.
  constexpr operation_laws exact{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  const law_report report = check_commutative_monoid(declare<exact>(real_addition<double>{}), samples);
  ASSERT_EQ(report.failures.size(), 1u);
  EXPECT_TRUE(report.failed("associativity"));
  EXPECT_NE(report.message().find("e+16"), std::string::npos) << report.message();
}

TEST(LawChecker, HoldsTheBoundOfAnApproximateLaw) {
  // Off by 1e-9 relative: far outside the bound of real_addition, inside a looser one from outside.
  struct sloppy : real_addition<double> {
    double combine(double a, double b) const { return (a + b) * (1 + 1e-9 * (a > b)); }
  };
  const std::vector<double> samples{1, 2, 3};
  EXPECT_TRUE(check_semigroup(sloppy{}, samples).failed("associativity"));
  EXPECT_FALSE(check_semigroup(sloppy{}, samples).failures.front().exact);
  const auto loose = [](double left, double right) { return std::abs(left - right) < 1e-7; };
  EXPECT_TRUE(check_semigroup(with_closeness(sloppy{}, loose), samples));
  const auto by_operands = [](double left, double right, operands_of<double> operands) {
    EXPECT_EQ(operands.size(), 3u);
    double size = 0;
    for (const double x : operands) size += x;
    return std::abs(left - right) < 1e-8 * size;
  };
  EXPECT_TRUE(check_semigroup(with_closeness(sloppy{}, by_operands), samples));
}

// Statistics as an estimator holds them: a large buffer, no ==, no declared laws, only what a fold needs.
struct buffer {
  std::vector<double> sums;
  double weight = 0;
};
struct buffer_monoid {
  using value_type = buffer;
  std::size_t size;
  buffer identity() const { return {std::vector<double>(size), 0}; }
  void reset(buffer& value) const { value = identity(); }
  void combine_into(buffer& into, const buffer& from) const {
    for (std::size_t i = 0; i < size; ++i) into.sums[i] += from.sums[i];
    into.weight += from.weight;
  }
  std::size_t bytes() const { return size * sizeof(double); }
};

TEST(LawChecker, HoldsStatisticsThatDeclareNothingThemselves) {
  static_assert(!magma<buffer_monoid>);
  constexpr operation_laws declared{.associative = law::approximate, .commutative = law::exact, .identity = law::exact};
  const auto close = [](const buffer& left, const buffer& right) {
    if (std::abs(left.weight - right.weight) > 1e-12) return false;
    for (std::size_t i = 0; i < left.sums.size(); ++i)
      if (std::abs(left.sums[i] - right.sums[i]) > 1e-12) return false;
    return true;
  };
  const auto same = [](const buffer& a, const buffer& b) { return a.sums == b.sums && a.weight == b.weight; };
  const auto statistics = with_closeness(with_equality(declare<declared>(buffer_monoid{257}), same), close);
  static_assert(commutative_monoid<decltype(statistics)> || commutative_monoid<std::decay_t<decltype(statistics)>>);
  unsigned state = 1;
  const auto samples = draw(6, [&] {
    buffer value = statistics.identity();
    for (double& x : value.sums) x = (state = state * 1664525u + 1013904223u) * 0x1p-32;
    value.weight = static_cast<double>(state % 7);
    return value;
  });
  const law_report report = check_commutative_monoid(statistics, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  EXPECT_EQ(report.comparisons, 6u * 6 * 6 + 6 * 5 / 2 + 2 * 6);

  struct forgetful : buffer_monoid {
    void combine_into(buffer& into, const buffer& from) const {
      buffer_monoid::combine_into(into, from);
      into.sums[256] = from.sums[256];
    }
  };
  const auto wrong = with_closeness(with_equality(declare<declared>(forgetful{{257}}), same), close);
  const law_report broken = check_commutative_monoid(wrong, samples);
  EXPECT_TRUE(broken.failed("commutativity"));
  EXPECT_TRUE(broken.failed("right identity"));
}

struct false_ring {
  using value_type = int;
  static constexpr ring_laws laws{
      .left_distributive = law::exact, .right_distributive = law::exact, .annihilating_zero = law::exact};
  integer_addition<int> addition() const { return {}; }
  maximum<int> multiplication() const { return {}; }
};

TEST(LawChecker, RejectsAFalseRingByName) {
  // Maximum does not distribute over addition.
  const std::vector<int> samples{-2, 0, 1, 3};
  const law_report report = check_unital_semiring(false_ring{}, samples);
  EXPECT_TRUE(report.failed("left distributivity"));
  EXPECT_TRUE(report.failed("right distributivity"));
  EXPECT_TRUE(report.failed("left zero"));
  EXPECT_TRUE(report.failed("right zero"));
  EXPECT_FALSE(report.failed("addition: associativity"));
  EXPECT_FALSE(report.failed("multiplication: associativity"));
}

RC_GTEST_PROP(LawChecker, ShrinksInsidePropertyTests, (int a, int b, int c)) {
  RC_ASSERT(check_abelian_group(integer_addition<int>{}, std::vector<int>{a, b, c}));
}

TEST(LawChecker, APropertyTestFindsAndShrinksAFalseClaim) {
  const auto result = rc::detail::checkTestable([](int a, int b, int c) {
    RC_ASSERT(check_semigroup(subtraction{}, std::vector<int>{a, b, c}));
  });
  EXPECT_TRUE(result.is<rc::detail::FailureResult>());
}

}  // namespace
