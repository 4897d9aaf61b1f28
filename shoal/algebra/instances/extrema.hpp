// Minimum, maximum and where they are.
#pragma once

#include <concepts>
#include <cstddef>
#include <limits>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

namespace detail {
inline constexpr operation_laws extremum_laws{.associative = law::exact,
                                              .commutative = law::exact,
                                              .identity = law::exact,
                                              .idempotent = law::exact,
                                              .selective = law::exact};

template <class Key>
constexpr Key greatest_key() {
  if constexpr (std::numeric_limits<Key>::has_infinity) {
    return std::numeric_limits<Key>::infinity();
  } else {
    return std::numeric_limits<Key>::max();
  }
}
template <class Key>
constexpr Key least_key() {
  if constexpr (std::numeric_limits<Key>::has_infinity) {
    return -std::numeric_limits<Key>::infinity();
  } else {
    return std::numeric_limits<Key>::lowest();
  }
}
}  // namespace detail

/// The lesser of two numbers. Domain: no NaN, which is neither less nor greater and breaks every law; refuse it before.
template <class Key>
struct minimum {
  using value_type = Key;
  static constexpr operation_laws laws = detail::extremum_laws;

  constexpr Key combine(const Key& a, const Key& b) const { return b < a ? b : a; }
  constexpr Key identity() const { return detail::greatest_key<Key>(); }
};

/// The greater of two numbers. Domain: no NaN.
template <class Key>
struct maximum {
  using value_type = Key;
  static constexpr operation_laws laws = detail::extremum_laws;

  constexpr Key combine(const Key& a, const Key& b) const { return a < b ? b : a; }
  constexpr Key identity() const { return detail::least_key<Key>(); }
};

/// A number and the row that it stands in.
template <class Key>
struct located {
  Key key{};
  std::size_t index = std::numeric_limits<std::size_t>::max();

  friend constexpr bool operator==(const located&, const located&) = default;
};

/// Where the least number is; of equal ones the lowest index wins, so the answer does not depend on the order of
/// combination. The identity has the greatest index, which no row has. Domain: no NaN.
template <class Key>
struct argmin {
  using value_type = located<Key>;
  static constexpr operation_laws laws = detail::extremum_laws;

  constexpr value_type combine(const value_type& a, const value_type& b) const {
    if (a.key < b.key) return a;
    if (b.key < a.key) return b;
    return b.index < a.index ? b : a;
  }
  constexpr value_type identity() const { return {detail::greatest_key<Key>()}; }
};

/// Where the greatest number is; of equal ones the lowest index wins. Domain: no NaN.
template <class Key>
struct argmax {
  using value_type = located<Key>;
  static constexpr operation_laws laws = detail::extremum_laws;

  constexpr value_type combine(const value_type& a, const value_type& b) const {
    if (b.key < a.key) return a;
    if (a.key < b.key) return b;
    return b.index < a.index ? b : a;
  }
  constexpr value_type identity() const { return {detail::least_key<Key>()}; }
};

}  // namespace shoal::algebra
