// Truth values: or, and, exclusive or, and what they form together.
#pragma once

#include <array>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

struct disjunction {
  using value_type = bool;
  static constexpr operation_laws laws{.associative = law::exact,
                                       .commutative = law::exact,
                                       .identity = law::exact,
                                       .idempotent = law::exact,
                                       .selective = law::exact};
  constexpr bool combine(bool a, bool b) const { return a || b; }
  constexpr bool identity() const { return false; }
  constexpr std::array<bool, 2> elements() const { return {false, true}; }
};

struct conjunction {
  using value_type = bool;
  static constexpr operation_laws laws = disjunction::laws;
  constexpr bool combine(bool a, bool b) const { return a && b; }
  constexpr bool identity() const { return true; }
  constexpr std::array<bool, 2> elements() const { return {false, true}; }
};

struct exclusive_or {
  using value_type = bool;
  static constexpr operation_laws laws{
      .associative = law::exact, .commutative = law::exact, .identity = law::exact, .inverse = law::exact};
  constexpr bool combine(bool a, bool b) const { return a != b; }
  constexpr bool identity() const { return false; }
  constexpr bool inverse(bool a) const { return a; }
  constexpr std::array<bool, 2> elements() const { return {false, true}; }
};

/// (or, and): a semiring without inverses. Matrices over it say what can be reached.
struct boolean_semiring {
  using value_type = bool;
  static constexpr ring_laws laws{
      .left_distributive = law::exact, .right_distributive = law::exact, .annihilating_zero = law::exact};
  constexpr disjunction addition() const { return {}; }
  constexpr conjunction multiplication() const { return {}; }
  constexpr std::array<bool, 2> elements() const { return {false, true}; }
};

/// (exclusive or, and): the field of two elements.
struct boolean_field {
  using value_type = bool;
  static constexpr ring_laws laws{.left_distributive = law::exact,
                                  .right_distributive = law::exact,
                                  .annihilating_zero = law::exact,
                                  .reciprocal = law::exact};
  constexpr exclusive_or addition() const { return {}; }
  constexpr conjunction multiplication() const { return {}; }
  constexpr bool reciprocal(bool a) const { return a; }
  constexpr std::array<bool, 2> elements() const { return {false, true}; }
};

}  // namespace shoal::algebra
