// The semiring of finite types: variants add, tuples multiply, and equality is being in one-to-one correspondence.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

/// A type without values: the zero of types. (std::variant<> cannot be named in that role: it is ill-formed to make.)
struct nothing {
  nothing() = delete;
};

/// A value of one of the types.
template <class... Types>
using sum_type = std::variant<Types...>;
/// A value of each of the types; with none of them, the type of one value: the one of types.
template <class... Types>
using product_type = std::tuple<Types...>;

namespace detail {

constexpr std::uint64_t checked_sum(std::uint64_t a, std::uint64_t b) {
  if (a > std::numeric_limits<std::uint64_t>::max() - b) {
    throw std::overflow_error("a sum type with more than 2^64 - 1 values has no cardinality here");
  }
  return a + b;
}
constexpr std::uint64_t checked_product(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > std::numeric_limits<std::uint64_t>::max() / a) {
    throw std::overflow_error("a product type with more than 2^64 - 1 values has no cardinality here");
  }
  return a * b;
}
template <class... Counts>
constexpr std::uint64_t total(Counts... counts) {
  std::uint64_t result = 0;
  ((result = checked_sum(result, counts)), ...);
  return result;
}
template <class... Counts>
constexpr std::uint64_t combinations(Counts... counts) {
  std::uint64_t result = 1;
  ((result = checked_product(result, counts)), ...);
  return result;
}

template <class Type>
struct cardinality_of;
template <>
struct cardinality_of<nothing> {
  static constexpr std::uint64_t value = 0;
};
template <>
struct cardinality_of<std::monostate> {
  static constexpr std::uint64_t value = 1;
};
template <>
struct cardinality_of<bool> {
  static constexpr std::uint64_t value = 2;
};
template <std::integral Type>
requires(sizeof(Type) < 8) struct cardinality_of<Type> {
  static constexpr std::uint64_t value = std::uint64_t{1} << (8 * sizeof(Type));
};
template <class... Types>
struct cardinality_of<std::variant<Types...>> {
  static constexpr std::uint64_t value = total(cardinality_of<Types>::value...);
};
template <class... Types>
struct cardinality_of<std::tuple<Types...>> {
  static constexpr std::uint64_t value = combinations(cardinality_of<Types>::value...);
};
template <class First, class Second>
struct cardinality_of<std::pair<First, Second>> {
  static constexpr std::uint64_t value = combinations(cardinality_of<First>::value, cardinality_of<Second>::value);
};
template <class Type>
struct cardinality_of<std::optional<Type>> {
  static constexpr std::uint64_t value = total(std::uint64_t{1}, cardinality_of<Type>::value);
};
template <class Type, std::size_t Size>
struct cardinality_of<std::array<Type, Size>> {
  static constexpr std::uint64_t value =
      Size == 0 ? 1 : checked_product(cardinality_of<Type>::value, cardinality_of<std::array<Type, Size - 1>>::value);
};
template <class Type>
struct cardinality_of<std::array<Type, 0>> {
  static constexpr std::uint64_t value = 1;
};

}  // namespace detail

/// How many values a type has. Known for bool, integers of less than 64 bits, `nothing`, std::monostate, and variants,
/// tuples, pairs, optionals and arrays of these.
template <class Type>
inline constexpr std::uint64_t cardinality = detail::cardinality_of<Type>::value;

/// Whether two finite types are the same up to a one-to-one correspondence of their values.
template <class A, class B>
inline constexpr bool isomorphic = cardinality<A> == cardinality<B>;

/// A×(B + C) → A×B + A×C, the correspondence behind distributivity.
template <class A, class B, class C>
constexpr sum_type<product_type<A, B>, product_type<A, C>> distribute(const product_type<A, sum_type<B, C>>& value) {
  using result = sum_type<product_type<A, B>, product_type<A, C>>;
  const auto& [a, choice] = value;
  if (choice.index() == 0) return result(std::in_place_index<0>, a, std::get<0>(choice));
  return result(std::in_place_index<1>, a, std::get<1>(choice));
}

/// A×B + A×C → A×(B + C), the way back.
template <class A, class B, class C>
constexpr product_type<A, sum_type<B, C>> factor(const sum_type<product_type<A, B>, product_type<A, C>>& value) {
  using choice = sum_type<B, C>;
  if (value.index() == 0) {
    const auto& [a, b] = std::get<0>(value);
    return {a, choice(std::in_place_index<0>, b)};
  }
  const auto& [a, c] = std::get<1>(value);
  return {a, choice(std::in_place_index<1>, c)};
}

/// Sum types of finite types, each known by its cardinality alone. Throws std::overflow_error beyond 2⁶⁴ − 1 values.
struct type_sum {
  using value_type = std::uint64_t;
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  constexpr std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return detail::checked_sum(a, b); }
  constexpr std::uint64_t identity() const { return cardinality<nothing>; }
};

/// Product types of finite types, each known by its cardinality alone. Throws std::overflow_error beyond 2⁶⁴ − 1
/// values.
struct type_product {
  using value_type = std::uint64_t;
  static constexpr operation_laws laws{.associative = law::exact, .commutative = law::exact, .identity = law::exact};
  constexpr std::uint64_t combine(std::uint64_t a, std::uint64_t b) const { return detail::checked_product(a, b); }
  constexpr std::uint64_t identity() const { return cardinality<product_type<>>; }
};

/// The semiring of finite types up to isomorphism, which is that of the natural numbers: a value is a cardinality.
struct finite_types {
  using value_type = std::uint64_t;
  static constexpr ring_laws laws{
      .left_distributive = law::exact, .right_distributive = law::exact, .annihilating_zero = law::exact};
  constexpr type_sum addition() const { return {}; }
  constexpr type_product multiplication() const { return {}; }
};

}  // namespace shoal::algebra
