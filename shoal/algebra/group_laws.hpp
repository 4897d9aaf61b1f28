// The law checker for structures with one operation.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/algebra/group.hpp>
#include <shoal/algebra/law_report.hpp>

namespace shoal::algebra {

/// Values drawn from a generator, for a check.
template <class Generator>
auto draw(std::size_t count, Generator&& generator) {
  std::vector<std::decay_t<decltype(generator())>> samples;
  samples.reserve(count);
  for (std::size_t i = 0; i < count; ++i) samples.push_back(generator());
  return samples;
}

namespace detail {

// Gathers the outcome of comparisons under one heading ("addition: " or nothing).
class law_recorder {
 public:
  law_recorder(law_report& report, std::string heading) : report_(&report), heading_(std::move(heading)) {}

  template <class Message>
  void expect(bool holds, const char* name, law level, std::initializer_list<std::size_t> elements,
              const Message& message) {
    ++report_->comparisons;
    if (holds) return;
    const std::string full = heading_ + name;
    for (law_failure& failure : report_->failures) {
      if (failure.law == full) {
        ++failure.count;
        return;
      }
    }
    report_->failures.push_back({full, level != law::approximate, elements, message(), 1});
  }

 private:
  law_report* report_;
  std::string heading_;
};

inline std::string describe_element(const char* name, std::size_t place, const std::string& text) {
  return std::string(name) + " = #" + std::to_string(place) + (text.empty() ? "" : " ") + text;
}
inline std::string describe_sides(const std::string& left, const std::string& right) {
  return left.empty() && right.empty() ? std::string() : ": " + left + " against " + right;
}

template <class Value>
std::vector<std::reference_wrapper<const Value>> references(std::initializer_list<const Value*> values) {
  std::vector<std::reference_wrapper<const Value>> result;
  for (const Value* value : values) result.push_back(*value);
  return result;
}

// Whether two sides of a law of the operation agree as far as the structure declared.
template <class Structure>
bool sides_agree(const Structure& structure, law level, const value_of<Structure>& left,
                 const value_of<Structure>& right, std::initializer_list<const value_of<Structure>*> operands) {
  if (equal(structure, left, right)) return true;
  if (level != law::approximate) return false;
  const auto list = references(operands);
  const operands_of<value_of<Structure>> view(list);
  if constexpr (requires { structure.close(left, right, view); }) {
    return structure.close(left, right, view);
  } else {
    static_assert(!any_approximate(Structure::laws),
                  "a structure that declares an approximate law states its bound: give it "
                  "`bool close(left, right, operands) const`, or wrap it in with_closeness");
    return false;
  }
}

struct wanted_laws {
  bool associative = false;
  bool commutative = false;
  bool identity = false;
  bool inverse = false;
  bool idempotent = false;
  bool selective = false;
};

// Tries the wanted laws of one operation on all tuples of the samples.
template <magma Structure, class Samples>
class operation_checker {
 public:
  using value_type = value_of<Structure>;

  operation_checker(const Structure& structure, const Samples& samples, law_report& report, std::string heading)
      : structure_(structure),
        samples_(samples),
        count_(static_cast<std::size_t>(std::ranges::size(samples))),
        recorder_(report, std::move(heading)) {}

  void check(const wanted_laws& wanted, bool exhaustive) {
    if constexpr (monoid<Structure>) {
      if (wanted.identity) check_identity();
    }
    if constexpr (group<Structure>) {
      if (wanted.inverse) check_inverse();
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const value_type& a = samples_[i];
      for (std::size_t j = 0; j < count_; ++j) {
        const value_type& b = samples_[j];
        const value_type ab = combine(structure_, a, b);
        check_pair(wanted, exhaustive, i, j, a, b, ab);
        if (wanted.associative) check_triples(i, j, a, b, ab);
      }
    }
  }

 private:
  std::string text(const value_type& value) const { return describe(structure_, value); }

  template <class... Elements>
  std::string message(const char* equation, const value_type& left, const value_type& right,
                      const Elements&... elements) const {
    std::string result = equation;
    const char* names[] = {" for a", ", b", ", c"};
    std::size_t next = 0;
    ((result += describe_element(names[next++], elements.first, text(*elements.second))), ...);
    return result + describe_sides(text(left), text(right));
  }
  using element = std::pair<std::size_t, const value_type*>;

  void check_identity() {
    const law level = Structure::laws.identity;
    const value_type e = structure_.identity();
    for (std::size_t i = 0; i < count_; ++i) {
      const value_type& a = samples_[i];
      const value_type before = combine(structure_, e, a);
      const value_type after = combine(structure_, a, e);
      recorder_.expect(sides_agree(structure_, level, before, a, {&a}), "left identity", level, {i},
                       [&] { return message("e·a is not a", before, a, element(i, &a)); });
      recorder_.expect(sides_agree(structure_, level, after, a, {&a}), "right identity", level, {i},
                       [&] { return message("a·e is not a", after, a, element(i, &a)); });
    }
  }

  void check_inverse() {
    const law level = Structure::laws.inverse;
    const value_type e = structure_.identity();
    for (std::size_t i = 0; i < count_; ++i) {
      const value_type& a = samples_[i];
      const value_type opposite = structure_.inverse(a);
      const value_type before = combine(structure_, opposite, a);
      const value_type after = combine(structure_, a, opposite);
      recorder_.expect(sides_agree(structure_, level, before, e, {&a}), "left inverse", level, {i},
                       [&] { return message("a⁻¹·a is not e", before, e, element(i, &a)); });
      recorder_.expect(sides_agree(structure_, level, after, e, {&a}), "right inverse", level, {i},
                       [&] { return message("a·a⁻¹ is not e", after, e, element(i, &a)); });
    }
  }

  void check_pair(const wanted_laws& wanted, bool exhaustive, std::size_t i, std::size_t j, const value_type& a,
                  const value_type& b, const value_type& ab) {
    if constexpr (combines_values<Structure> && combines_in_place<Structure>) {
      value_type into = a;
      structure_.combine_into(into, b);
      recorder_.expect(equal(structure_, into, ab), "one operation", law::exact, {i, j}, [&] {
        return message("combine_into differs from combine", into, ab, element(i, &a), element(j, &b));
      });
    }
    if (exhaustive) {
      bool inside = false;
      for (std::size_t k = 0; k < count_ && !inside; ++k) {
        const value_type& member = samples_[k];
        inside = equal(structure_, ab, member);
      }
      recorder_.expect(inside, "closure", law::exact, {i, j},
                       [&] { return message("a·b is not an element", ab, ab, element(i, &a), element(j, &b)); });
    }
    if (wanted.commutative && i < j) {
      const law level = Structure::laws.commutative;
      const value_type ba = combine(structure_, b, a);
      recorder_.expect(sides_agree(structure_, level, ab, ba, {&a, &b}), "commutativity", level, {i, j},
                       [&] { return message("a·b is not b·a", ab, ba, element(i, &a), element(j, &b)); });
    }
    if (wanted.idempotent && i == j) {
      const law level = Structure::laws.idempotent;
      recorder_.expect(sides_agree(structure_, level, ab, a, {&a}), "idempotence", level, {i},
                       [&] { return message("a·a is not a", ab, a, element(i, &a)); });
    }
    if (wanted.selective) {
      const law level = Structure::laws.selective;
      recorder_.expect(
          sides_agree(structure_, level, ab, a, {&a, &b}) || sides_agree(structure_, level, ab, b, {&a, &b}),
          "selectivity", level, {i, j},
          [&] { return message("a·b is neither a nor b", ab, a, element(i, &a), element(j, &b)); });
    }
  }

  void check_triples(std::size_t i, std::size_t j, const value_type& a, const value_type& b, const value_type& ab) {
    const law level = Structure::laws.associative;
    for (std::size_t k = 0; k < count_; ++k) {
      const value_type& c = samples_[k];
      const value_type left = combine(structure_, ab, c);
      const value_type right = combine(structure_, a, combine(structure_, b, c));
      recorder_.expect(
          sides_agree(structure_, level, left, right, {&a, &b, &c}), "associativity", level, {i, j, k}, [&] {
            return message("(a·b)·c is not a·(b·c)", left, right, element(i, &a), element(j, &b), element(k, &c));
          });
    }
  }

  const Structure& structure_;
  const Samples& samples_;
  std::size_t count_;
  law_recorder recorder_;
};

// Calls function(samples, exhaustive) with the samples given, or with all elements of a finite structure.
template <class Structure, class Function, class... Samples>
void with_samples(const Structure& structure, const Function& function, const Samples&... samples) {
  static_assert(sizeof...(Samples) <= 1, "give one range of samples");
  if constexpr (sizeof...(Samples) == 1) {
    static_assert((std::ranges::random_access_range<const Samples> && ...), "samples are a random-access range");
    (function(samples, false), ...);
  } else {
    static_assert(finite<Structure>, "without samples a structure must list its elements()");
    function(structure.elements(), true);
  }
}

template <magma Structure, class... Samples>
law_report check_operation(const Structure& structure, const wanted_laws& wanted, const Samples&... samples) {
  law_report report;
  with_samples(
      structure,
      [&](const auto& elements, bool exhaustive) {
        operation_checker(structure, elements, report, "").check(wanted, exhaustive);
      },
      samples...);
  return report;
}

}  // namespace detail

/// That combine and combine_into are one operation and, for a finite structure without samples, that it is closed.
template <magma Structure, class... Samples>
law_report check_magma(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {}, samples...);
}
template <commutative_magma Structure, class... Samples>
law_report check_commutative_magma(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.commutative = true}, samples...);
}
template <semigroup Structure, class... Samples>
law_report check_semigroup(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true}, samples...);
}
template <commutative_semigroup Structure, class... Samples>
law_report check_commutative_semigroup(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true, .commutative = true}, samples...);
}
template <semilattice Structure, class... Samples>
law_report check_semilattice(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true, .commutative = true, .idempotent = true}, samples...);
}
template <monoid Structure, class... Samples>
law_report check_monoid(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true, .identity = true}, samples...);
}
template <commutative_monoid Structure, class... Samples>
law_report check_commutative_monoid(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true, .commutative = true, .identity = true}, samples...);
}
template <group Structure, class... Samples>
law_report check_group(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(structure, {.associative = true, .identity = true, .inverse = true}, samples...);
}
template <abelian_group Structure, class... Samples>
law_report check_abelian_group(const Structure& structure, const Samples&... samples) {
  return detail::check_operation(
      structure, {.associative = true, .commutative = true, .identity = true, .inverse = true}, samples...);
}

/// Every law that a structure with one operation declares.
template <magma Structure, class... Samples>
law_report check_declared(const Structure& structure, const Samples&... samples) {
  constexpr operation_laws laws = Structure::laws;
  return detail::check_operation(structure,
                                 {.associative = laws.associative != law::unclaimed,
                                  .commutative = laws.commutative != law::unclaimed,
                                  .identity = laws.identity != law::unclaimed,
                                  .inverse = laws.inverse != law::unclaimed,
                                  .idempotent = laws.idempotent != law::unclaimed,
                                  .selective = laws.selective != law::unclaimed},
                                 samples...);
}

}  // namespace shoal::algebra
