// Strings, traces, syntactic monoids, processes and types: the structures of computing.
#include <algorithm>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <shoal/algebra/algebra.hpp>

#include "property.hpp"

namespace {

using namespace shoal::algebra;

TEST(Strings, AreAMonoidAndDoNotCommute) {
  expect_property("strings", [](const std::string& a, const std::string& b, const std::string& c) {
    RC_ASSERT(check_monoid(concatenation{}, std::vector<std::string>{a, b, c}));
  });
  static_assert(!commutative_magma<concatenation> && !group<concatenation>);
  constexpr operation_laws claimed{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  const law_report report =
      check_commutative_monoid(declare<claimed>(concatenation{}), std::vector<std::string>{"a", "b"});
  ASSERT_TRUE(report.failed("commutativity"));
  EXPECT_NE(report.message().find("\"ab\" against \"ba\""), std::string::npos) << report.message();
}

// Letters are independent when they are two apart or more: a, c, d and so on may pass each other, neighbours may not.
trace_monoid neighbours_are_dependent() { return trace_monoid({{'a', 'c'}, {'a', 'd'}, {'b', 'd'}}); }

// Two words are the same trace exactly when their projections on every pair of dependent letters are.
bool same_projections(const trace_monoid& monoid, const std::string& a, const std::string& b) {
  for (const char x : std::string("abcd")) {
    for (const char y : std::string("abcd")) {
      if (monoid.are_independent(x, y)) continue;
      const auto project = [&](std::string word) {
        std::erase_if(word, [&](char letter) { return letter != x && letter != y; });
        return word;
      };
      if (project(a) != project(b)) return false;
    }
  }
  return true;
}

rc::Gen<std::string> word() {
  return rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcd"))));
}

TEST(Traces, AreWordsWhoseIndependentLettersSwap) {
  const trace_monoid monoid = neighbours_are_dependent();
  EXPECT_EQ(monoid.trace("ca"), "ac");
  EXPECT_EQ(monoid.trace("ba"), "ba");
  EXPECT_EQ(monoid.trace("dcba"), "dcba");
  EXPECT_EQ(monoid.trace("dba"), "bad");
  EXPECT_EQ(monoid.combine("c", "a"), monoid.combine("a", "c"));
  EXPECT_NE(monoid.combine("a", "b"), monoid.combine("b", "a"));
  EXPECT_THROW(trace_monoid({{'a', 'a'}}), shoal::bad_argument);
  expect_property("normal forms decide equality of traces", [&] {
    const std::string a = *word();
    std::string b = a;
    std::swap(b[*rc::gen::inRange<std::size_t>(0, a.size() + 1) % std::max<std::size_t>(1, b.size())], b[0]);
    RC_ASSERT((monoid.trace(a) == monoid.trace(b)) == same_projections(monoid, a, b));
    RC_ASSERT(monoid.trace(monoid.trace(a)) == monoid.trace(a));
  });
  expect_property("trace monoid", [&] {
    const std::vector<std::string> samples{monoid.trace(*word()), monoid.trace(*word()), monoid.trace(*word())};
    RC_ASSERT(check_monoid(monoid, samples));
  });
}

// Words over a with an even number of letters; the automaton has a needless third state.
automaton even_length() { return {"a", {{1}, {2}, {1}}, 0, {true, false, true}}; }
// a*b*.
automaton as_then_bs() { return {"ab", {{0, 1}, {2, 1}, {2, 2}}, 0, {true, true, false}}; }

TEST(SyntacticMonoid, OfEvenWordsIsTheGroupOfTwo) {
  const syntactic_monoid monoid(even_length());
  EXPECT_EQ(monoid.states(), 2u);
  EXPECT_EQ(monoid.elements().size(), 2u);
  EXPECT_TRUE(check_monoid(monoid));
  EXPECT_TRUE(monoid.accepts(monoid.of("aaaa")));
  EXPECT_FALSE(monoid.accepts(monoid.of("aaa")));
  EXPECT_EQ(monoid.of("aa"), monoid.identity());
}

TEST(SyntacticMonoid, OfAStarFreeLanguageHasNoGroupInIt) {
  const syntactic_monoid monoid(as_then_bs());
  EXPECT_TRUE(check_monoid(monoid));
  // The classes 1, a⁺, b⁺, a⁺b⁺ and everything with b before a.
  EXPECT_EQ(monoid.elements().size(), 5u);
  for (const auto& x : monoid.elements()) {
    const auto many = power(monoid, x, 12);
    EXPECT_EQ(many, monoid.combine(many, x));
  }
  expect_property("recognises the language", [&] {
    const std::string text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab")));
    RC_ASSERT(monoid.accepts(monoid.of(text)) == std::is_sorted(text.begin(), text.end()));
  });
}

TEST(SyntacticMonoid, RefusesWhatIsNotAnAutomaton) {
  EXPECT_THROW(syntactic_monoid({"a", {{1}}, 0, {true}}), shoal::bad_argument);
  EXPECT_THROW(syntactic_monoid({"ab", {{0}}, 0, {true}}), shoal::bad_argument);
  EXPECT_THROW(syntactic_monoid({"a", {}, 0, {}}), shoal::bad_argument);
  EXPECT_THROW(syntactic_monoid(as_then_bs()).of("abc"), shoal::bad_argument);
  EXPECT_THROW(syntactic_monoid(as_then_bs(), 4), shoal::bad_argument);
}

using enum process_equality;

std::vector<process> some_processes() {
  const process a = action('a'), b = action('b'), c = action('c');
  return {deadlock(),
          ended(),
          a,
          b,
          sequence(a, choose(b, c)),
          choose(sequence(a, b), sequence(a, c)),
          choose(ended(), a),
          sequence(a, deadlock())};
}

// Bisimilarity by its definition, against which the canonical form is held.
bool bisimilar(const process& a, const process& b) {
  const auto follows = [](const process& x, const process& y) {
    return std::all_of(x.steps.begin(), x.steps.end(), [&](const process_step& step) {
      return std::any_of(y.steps.begin(), y.steps.end(), [&](const process_step& other) {
        return other.action == step.action && bisimilar(step.next, other.next);
      });
    });
  };
  return a.may_end == b.may_end && follows(a, b) && follows(b, a);
}

rc::Gen<process> some_process(int depth) {
  if (depth == 0) return rc::gen::element(deadlock(), ended(), action('a'), action('b'));
  return rc::gen::mapcat(rc::gen::inRange(0, 3), [depth](int kind) {
    return rc::gen::map(rc::gen::pair(some_process(depth - 1), some_process(depth - 1)),
                        [kind](const std::pair<process, process>& parts) {
                          return kind == 0   ? parts.first
                                 : kind == 1 ? choose(parts.first, parts.second)
                                             : sequence(parts.first, parts.second);
                        });
  });
}

TEST(Processes, AreASemiringByTheirExecutionPaths) {
  static_assert(unital_semiring<process_algebra<execution_paths>>);
  const law_report report = check_unital_semiring(process_algebra<execution_paths>{}, some_processes());
  EXPECT_TRUE(report.passed()) << report.message();
  EXPECT_TRUE(check_semilattice(process_choice<execution_paths>{}, some_processes()));
  EXPECT_TRUE(check_commutative_monoid(process_interleaving<execution_paths>{}, some_processes()));
}

using branching = process_algebra<bisimulation>;
struct false_claim : branching {
  static constexpr ring_laws laws{law::exact, law::exact, law::exact};
};

TEST(Processes, DistributeOnOneSideOnlyUnderBisimulation) {
  static_assert(near_ringoid<branching> && !ringoid<branching> && !semiring<branching>);
  const auto samples = some_processes();
  EXPECT_TRUE(check_near_ringoid(branching{}, samples));
  EXPECT_TRUE(check_declared(process_choice<bisimulation>{}, samples));
  EXPECT_TRUE(check_declared(process_sequence<bisimulation>{}, samples));
  EXPECT_TRUE(check_declared(process_interleaving<bisimulation>{}, samples));

  // a(b + c) and ab + ac do the same things, but only one of them still chooses after a.
  const process early = samples[5], late = samples[4];
  EXPECT_EQ(shoal::algebra::execution_paths(early), (std::set<std::string>{"ab", "ac"}));
  EXPECT_EQ(shoal::algebra::execution_paths(early), shoal::algebra::execution_paths(late));
  EXPECT_FALSE(early == late);

  const law_report report = check_unital_semiring(false_claim{}, samples);
  EXPECT_TRUE(report.failed("left distributivity"));
  EXPECT_FALSE(report.failed("right distributivity"));
  EXPECT_TRUE(report.failed("right zero"));  // an action before a deadlock has happened
  EXPECT_FALSE(report.failed("left zero"));
}

TEST(Processes, KeepTheirLawsOnRandomTerms) {
  expect_property("laws of processes", [] {
    std::vector<process> samples;
    for (int i = 0; i < 3; ++i) samples.push_back(*some_process(2));
    RC_ASSERT(check_unital_semiring(process_algebra<execution_paths>{}, samples));
    RC_ASSERT(check_near_ringoid(process_algebra<bisimulation>{}, samples));
    RC_ASSERT(check_declared(process_choice<bisimulation>{}, samples));
    RC_ASSERT(check_declared(process_sequence<bisimulation>{}, samples));
    RC_ASSERT((samples[0] == samples[1]) == bisimilar(samples[0], samples[1]));
    RC_ASSERT(bisimilar(choose(samples[0], samples[1]), choose(samples[1], samples[0])));
  });
}

TEST(Processes, InterleaveInEveryOrder) {
  const process both = interleave(sequence(action('a'), action('b')), action('c'));
  EXPECT_EQ(shoal::algebra::execution_paths(both), (std::set<std::string>{"abc", "acb", "cab"}));
}

TEST(Types, AddAndMultiplyUpToIsomorphism) {
  static_assert(cardinality<bool> == 2 && cardinality<unsigned char> == 256 && cardinality<nothing> == 0);
  static_assert(cardinality<std::optional<std::pair<bool, bool>>> == 5);
  static_assert(cardinality<std::array<bool, 3>> == 8 && cardinality<std::array<bool, 0>> == 1);
  // A + B ≅ B + A, A×1 ≅ A, A×0 ≅ 0, A×(B + C) ≅ A×B + A×C.
  using three = sum_type<bool, std::monostate>;
  static_assert(isomorphic<sum_type<bool, three>, sum_type<three, bool>>);
  static_assert(isomorphic<product_type<three, product_type<>>, three>);
  static_assert(isomorphic<product_type<three, nothing>, nothing>);
  static_assert(isomorphic<product_type<bool, sum_type<bool, three>>,
                           sum_type<product_type<bool, bool>, product_type<bool, three>>>);
  static_assert(!isomorphic<bool, three>);
  const law_report report = check_unital_semiring(finite_types{}, std::vector<std::uint64_t>{0, 1, 2, 3, 256, 65536});
  EXPECT_TRUE(report.passed()) << report.message();
  static_assert(!ring<finite_types>);
  EXPECT_THROW(type_product{}.combine(std::uint64_t{1} << 32, std::uint64_t{1} << 32), std::overflow_error);
  EXPECT_THROW(type_sum{}.combine(~std::uint64_t{0}, 1), std::overflow_error);
}

TEST(Types, DistributivityIsACorrespondenceOfValues) {
  using left = product_type<bool, sum_type<bool, std::optional<bool>>>;
  std::set<sum_type<product_type<bool, bool>, product_type<bool, std::optional<bool>>>> images;
  std::vector<left> values;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true})
      values.push_back({a, sum_type<bool, std::optional<bool>>(std::in_place_index<0>, b)});
    for (const std::optional<bool> c : {std::optional<bool>(), std::optional(false), std::optional(true)})
      values.push_back({a, sum_type<bool, std::optional<bool>>(std::in_place_index<1>, c)});
  }
  ASSERT_EQ(values.size(), cardinality<left>);
  for (const left& value : values) {
    const auto image = distribute(value);
    EXPECT_EQ(factor(image), value);
    images.insert(image);
  }
  EXPECT_EQ(images.size(), values.size());
}

}  // namespace
