// Structures with two operations, from ringoid to field.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <shoal/algebra/group.hpp>

namespace shoal::algebra {

/// What a structure with two operations promises beyond what each operation declares for itself.
struct ring_laws {
  law left_distributive = law::unclaimed;   ///< z(x + y) = zx + zy
  law right_distributive = law::unclaimed;  ///< (x + y)z = xz + yz
  law annihilating_zero = law::unclaimed;   ///< 0a = 0 = a0; in a ring it follows, in a semiring it does not
  law reciprocal = law::unclaimed;          ///< a·a⁻¹ = 1 = a⁻¹·a for every a but 0, and 0 ≠ 1

  friend constexpr bool operator==(const ring_laws&, const ring_laws&) = default;
};

constexpr bool any_approximate(const ring_laws& laws) {
  return laws.left_distributive == law::approximate || laws.right_distributive == law::approximate ||
         laws.annihilating_zero == law::approximate || laws.reciprocal == law::approximate;
}

template <class Structure>
using addition_of = std::remove_cvref_t<decltype(std::declval<const Structure&>().addition())>;
template <class Structure>
using multiplication_of = std::remove_cvref_t<decltype(std::declval<const Structure&>().multiplication())>;

/// Two operations on one set, given by `addition() const` and `multiplication() const`, each a structure by itself.
template <class Structure>
concept two_operations = requires {
  typename Structure::value_type;
  { Structure::laws } -> std::convertible_to<ring_laws>;
}
&&magma<addition_of<Structure>>&& magma<multiplication_of<Structure>>&&
    std::same_as<value_of<addition_of<Structure>>, value_of<Structure>>&&
        std::same_as<value_of<multiplication_of<Structure>>, value_of<Structure>>;

// Named for the compilers' messages, as the laws of one operation are.
template <class Structure>
concept declares_left_distributive_law = Structure::laws.left_distributive != law::unclaimed;
template <class Structure>
concept declares_right_distributive_law = Structure::laws.right_distributive != law::unclaimed;
template <class Structure>
concept declares_annihilating_zero = Structure::laws.annihilating_zero != law::unclaimed;
template <class Structure>
concept declares_reciprocal_law = Structure::laws.reciprocal != law::unclaimed;

/// The structure gives `value_type reciprocal(a) const`.
template <class Structure>
concept gives_reciprocal = requires(const Structure& structure, const value_of<Structure>& a) {
  { structure.reciprocal(a) } -> std::same_as<value_of<Structure>>;
};

/// Distributive on the right only: (x + y)z = xz + yz. What processes are when the moment of choice counts.
template <class Structure>
concept near_ringoid = two_operations<Structure> && declares_right_distributive_law<Structure>;

/// Two magmas, the second distributing over the first on both sides.
template <class Structure>
concept ringoid = near_ringoid<Structure> && declares_left_distributive_law<Structure>;

/// A ringoid of a commutative semigroup and a semigroup. (The source does not ask addition to commute; every semiring
/// in use does.)
template <class Structure>
concept semiring =
    ringoid<Structure> && commutative_semigroup<addition_of<Structure>> && semigroup<multiplication_of<Structure>>;

/// A semiring with 0 and 1 where 0 annihilates: what matrices and polynomials can be built over.
template <class Structure>
concept unital_semiring = semiring<Structure> && monoid<addition_of<Structure>> &&
    monoid<multiplication_of<Structure>> && declares_annihilating_zero<Structure>;

/// A semiring whose addition is an abelian group.
template <class Structure>
concept ring = semiring<Structure> && abelian_group<addition_of<Structure>>;

template <class Structure>
concept ring_with_unity = ring<Structure> && unital_semiring<Structure>;
template <class Structure>
concept commutative_ring_with_unity = ring_with_unity<Structure> && commutative_monoid<multiplication_of<Structure>>;

/// A ring with unity with `value_type reciprocal(a) const` for every a but 0. Zero has no inverse, so multiplication
/// on the whole set is never a group, and the reciprocal belongs to the ring instead.
template <class Structure>
concept division_ring = ring_with_unity<Structure> && declares_reciprocal_law<Structure> && gives_reciprocal<Structure>;

template <class Structure>
concept field = division_ring<Structure> && commutative_ring_with_unity<Structure>;

/// The identity of addition.
template <class Ring>
requires monoid<addition_of<Ring>>
constexpr value_of<Ring> zero(const Ring& ring) { return ring.addition().identity(); }

/// The identity of multiplication.
template <class Ring>
requires monoid<multiplication_of<Ring>>
constexpr value_of<Ring> one(const Ring& ring) { return ring.multiplication().identity(); }

template <two_operations Ring>
constexpr value_of<Ring> add(const Ring& ring, const value_of<Ring>& a, const value_of<Ring>& b) {
  return combine(ring.addition(), a, b);
}

template <two_operations Ring>
constexpr value_of<Ring> multiply(const Ring& ring, const value_of<Ring>& a, const value_of<Ring>& b) {
  return combine(ring.multiplication(), a, b);
}

template <ring Ring>
constexpr value_of<Ring> subtract(const Ring& ring, const value_of<Ring>& a, const value_of<Ring>& b) {
  return combine(ring.addition(), a, ring.addition().inverse(b));
}

}  // namespace shoal::algebra
