// Structures with one operation, from magma to abelian group, and the laws that they declare.
#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

namespace shoal::algebra {

/// How far a law holds. Floating-point addition, for one, commutes exactly and associates only approximately.
enum class law : unsigned char {
  unclaimed,    ///< not promised, perhaps false
  approximate,  ///< up to the rounding bound that the structure states in `close`
  exact         ///< without exception, by the structure's equality
};

/// The weakest of several promises: what a structure composed of others may promise.
constexpr law weakest(std::initializer_list<law> laws) { return std::min(laws); }

/// What a structure with one operation promises; unnamed laws are unclaimed. Written as
/// `static constexpr operation_laws laws{.associative = law::exact, .identity = law::exact};`.
struct operation_laws {
  law associative = law::unclaimed;  ///< (a·b)·c = a·(b·c)
  law commutative = law::unclaimed;  ///< a·b = b·a: a reduce may reorder
  law identity = law::unclaimed;     ///< e·a = a = a·e: an empty range can be folded
  law inverse = law::unclaimed;      ///< a·a⁻¹ = e = a⁻¹·a: a contribution can be taken out again
  law idempotent = law::unclaimed;   ///< a·a = a
  law selective = law::unclaimed;    ///< a·b is a or b, as minimum is

  friend constexpr bool operator==(const operation_laws&, const operation_laws&) = default;
};

/// What sums of floating-point numbers keep: addition commutes to the bit and associates up to rounding.
inline constexpr operation_laws rounded_sums{
    .associative = law::approximate, .commutative = law::exact, .identity = law::exact};
inline constexpr operation_laws rounded_sums_with_inverse{
    .associative = law::approximate, .commutative = law::exact, .identity = law::exact, .inverse = law::exact};
/// Moments about a mean of their own: which side's mean is moved decides a rounding.
inline constexpr operation_laws rounded_moments{
    .associative = law::approximate, .commutative = law::approximate, .identity = law::exact};

/// Whether some law is promised only up to rounding.
constexpr bool any_approximate(const operation_laws& laws) {
  for (const law held :
       {laws.associative, laws.commutative, laws.identity, laws.inverse, laws.idempotent, laws.selective}) {
    if (held == law::approximate) return true;
  }
  return false;
}

/// What each law of a composed structure may be: the weaker of two declarations, law by law.
constexpr operation_laws weakest(const operation_laws& a, const operation_laws& b) {
  return {.associative = weakest({a.associative, b.associative}),
          .commutative = weakest({a.commutative, b.commutative}),
          .identity = weakest({a.identity, b.identity}),
          .inverse = weakest({a.inverse, b.inverse}),
          .idempotent = weakest({a.idempotent, b.idempotent}),
          .selective = weakest({a.selective, b.selective})};
}

/// The values that a structure is about.
template <class Structure>
using value_of = typename Structure::value_type;

/// The elements that a law was tried on, for a bound that depends on their size.
template <class Value>
using operands_of = std::span<const std::reference_wrapper<const Value>>;

/// The structure gives `value_type combine(a, b) const`. The type must be the very same: an operation on uint16_t that
/// returns the promoted int has left its set.
template <class Structure>
concept combines_values = requires(const Structure& structure, const value_of<Structure>& a) {
  { structure.combine(a, a) } -> std::same_as<value_of<Structure>>;
};

/// The structure gives `void combine_into(value_type& into, const value_type& from) const`: into = into·from.
template <class Structure>
concept combines_in_place = requires(const Structure& structure, value_of<Structure>& into,
                                     const value_of<Structure>& from) {
  structure.combine_into(into, from);
};

/// The structure says which laws it keeps.
template <class Structure>
concept declares_operation_laws = requires {
  { Structure::laws } -> std::convertible_to<operation_laws>;
};

/// The structure gives its operation in one form or the other.
template <class Structure>
concept gives_combine_or_combine_into = combines_values<Structure> || combines_in_place<Structure>;

/// The structure gives `value_type identity() const`.
template <class Structure>
concept gives_identity = requires(const Structure& structure) {
  { structure.identity() } -> std::same_as<value_of<Structure>>;
};

/// The structure gives `value_type inverse(a) const`.
template <class Structure>
concept gives_inverse = requires(const Structure& structure, const value_of<Structure>& a) {
  { structure.inverse(a) } -> std::same_as<value_of<Structure>>;
};

// Compilers name the concept that was not met: one for each law, so that the message names the law.
template <class Structure>
concept declares_associative_law = Structure::laws.associative != law::unclaimed;
template <class Structure>
concept declares_commutative_law = Structure::laws.commutative != law::unclaimed;
template <class Structure>
concept declares_identity_law = Structure::laws.identity != law::unclaimed;
template <class Structure>
concept declares_inverse_law = Structure::laws.inverse != law::unclaimed;
template <class Structure>
concept declares_idempotent_law = Structure::laws.idempotent != law::unclaimed;

/// A set closed under one operation. A structure is a value: whatever the operation needs to know at run time (a
/// dimension, a K) is a member of it. The set is `value_type` with an equality: `bool equal(a, b) const` where the
/// structure gives it, == otherwise. The source calls this a groupoid.
template <class Structure>
concept magma = std::copyable<value_of<Structure>> && declares_operation_laws<Structure> &&
    gives_combine_or_combine_into<Structure>;

/// A magma whose operation associates: it can be cut anywhere, so folded in blocks.
template <class Structure>
concept semigroup = magma<Structure> && declares_associative_law<Structure>;

/// A semigroup with `value_type identity() const`: it can fold nothing.
template <class Structure>
concept monoid = semigroup<Structure> && declares_identity_law<Structure> && gives_identity<Structure>;

/// A monoid with `value_type inverse(a) const`.
template <class Structure>
concept group = monoid<Structure> && declares_inverse_law<Structure> && gives_inverse<Structure>;

template <class Structure>
concept commutative_magma = magma<Structure> && declares_commutative_law<Structure>;
template <class Structure>
concept commutative_semigroup = semigroup<Structure> && commutative_magma<Structure>;
template <class Structure>
concept commutative_monoid = monoid<Structure> && commutative_magma<Structure>;
template <class Structure>
concept abelian_group = group<Structure> && commutative_magma<Structure>;

/// A commutative, idempotent semigroup: the join or meet of an order.
template <class Structure>
concept semilattice = commutative_semigroup<Structure> && declares_idempotent_law<Structure>;

/// A set that can be listed: `elements() const` returns a range of every value, and laws are checked exhaustively.
template <class Structure>
concept finite = requires(const Structure& structure) {
  structure.elements();
};

/// a·b, whichever form of the operation the structure gives.
template <magma Structure>
constexpr value_of<Structure> combine(const Structure& structure, const value_of<Structure>& a,
                                      const value_of<Structure>& b) {
  if constexpr (combines_values<Structure>) {
    return structure.combine(a, b);
  } else {
    value_of<Structure> result = a;
    structure.combine_into(result, b);
    return result;
  }
}

/// into = into·from, whichever form of the operation the structure gives. The two must not be the same object.
template <magma Structure>
constexpr void combine_into(const Structure& structure, value_of<Structure>& into, const value_of<Structure>& from) {
  if constexpr (combines_in_place<Structure>) {
    structure.combine_into(into, from);
  } else {
    into = structure.combine(std::as_const(into), from);
  }
}

/// Equality of the structure's set.
template <class Structure>
constexpr bool equal(const Structure& structure, const value_of<Structure>& a, const value_of<Structure>& b) {
  if constexpr (requires {
                  { structure.equal(a, b) } -> std::convertible_to<bool>;
                }) {
    return structure.equal(a, b);
  } else {
    return static_cast<bool>(a == b);
  }
}

}  // namespace shoal::algebra
