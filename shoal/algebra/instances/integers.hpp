// Integers modulo 2ⁿ: what machine integers are.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <shoal/algebra/ring.hpp>
#include <shoal/core/error.hpp>

namespace shoal::algebra {

namespace detail {

// Arithmetic is done in an unsigned type that does not promote: uint16_t would become a signed int, and 65535·65535
// overflows that.
template <class Integer>
using wrapping_type = std::common_type_t<std::make_unsigned_t<Integer>, unsigned>;

// The representative of x modulo 2^bits that `Integer` holds.
template <class Integer, unsigned Bits>
constexpr Integer wrap(wrapping_type<Integer> x) {
  if constexpr (Bits < std::numeric_limits<wrapping_type<Integer>>::digits) {
    x &= (wrapping_type<Integer>{1} << Bits) - 1;
  }
  return static_cast<Integer>(x);
}

template <class Integer>
inline constexpr unsigned width = std::numeric_limits<std::make_unsigned_t<Integer>>::digits;

template <class Integer, unsigned Bits>
concept holds_bits = std::integral<Integer> && !std::same_as<Integer, bool> && Bits >= 1 && Bits <= width<Integer> &&
                     (std::unsigned_integral<Integer> || Bits == width<Integer>);

template <class Integer, unsigned Bits>
std::vector<Integer> all_integers() {
  std::vector<Integer> result;
  for (unsigned x = 0; x < (1u << Bits); ++x) result.push_back(static_cast<Integer>(x));
  return result;
}

}  // namespace detail

/// Addition modulo 2^Bits; a signed type wraps around instead of overflowing.
template <class Integer, unsigned Bits = detail::width<Integer>>
requires detail::holds_bits<Integer, Bits>
struct integer_addition {
  using value_type = Integer;
  static constexpr operation_laws laws{
      .associative = law::exact, .commutative = law::exact, .identity = law::exact, .inverse = law::exact};
  using wide = detail::wrapping_type<Integer>;

  constexpr Integer combine(Integer a, Integer b) const {
    return detail::wrap<Integer, Bits>(static_cast<wide>(a) + static_cast<wide>(b));
  }
  constexpr Integer identity() const { return 0; }
  constexpr Integer inverse(Integer a) const { return detail::wrap<Integer, Bits>(wide{0} - static_cast<wide>(a)); }
  std::vector<Integer> elements() const requires(Bits <= 8) { return detail::all_integers<Integer, Bits>(); }
};

/// Multiplication modulo 2^Bits.
template <class Integer, unsigned Bits = detail::width<Integer>>
requires detail::holds_bits<Integer, Bits>
struct integer_multiplication {
  using value_type = Integer;
  static constexpr operation_laws laws{.associative = law::exact,
                                       .commutative = law::exact,
                                       .identity = law::exact,
                                       .idempotent = Bits == 1 ? law::exact : law::unclaimed};
  using wide = detail::wrapping_type<Integer>;

  constexpr Integer combine(Integer a, Integer b) const {
    return detail::wrap<Integer, Bits>(static_cast<wide>(a) * static_cast<wide>(b));
  }
  constexpr Integer identity() const { return 1; }
  std::vector<Integer> elements() const requires(Bits <= 8) { return detail::all_integers<Integer, Bits>(); }
};

/// The commutative ring with unity Z/2^Bits. Its units are the 2^(Bits − 1) odd numbers, so it is a field for one bit
/// and for no other number of bits.
template <class Integer, unsigned Bits = detail::width<Integer>>
requires detail::holds_bits<Integer, Bits>
struct integers {
  using value_type = Integer;
  static constexpr ring_laws laws{.left_distributive = law::exact,
                                  .right_distributive = law::exact,
                                  .annihilating_zero = law::exact,
                                  .reciprocal = Bits == 1 ? law::exact : law::unclaimed};

  constexpr integer_addition<Integer, Bits> addition() const { return {}; }
  constexpr integer_multiplication<Integer, Bits> multiplication() const { return {}; }

  /// Whether `a` has a multiplicative inverse.
  constexpr bool is_unit(Integer a) const { return (a & 1) != 0; }

  /// The multiplicative inverse of an odd number, by Newton's iteration x ← x(2 − ax), which doubles the number of
  /// correct low bits (three to begin with, as a·a = 1 mod 8). Throws bad_argument for an even number.
  constexpr Integer unit_inverse(Integer a) const {
    using wide = detail::wrapping_type<Integer>;
    if (!is_unit(a)) throw bad_argument("integers: an even number has no inverse modulo a power of two");
    const wide odd = static_cast<wide>(a);
    wide x = odd;
    for (unsigned correct = 3; correct < Bits; correct *= 2) x *= wide{2} - odd * x;
    return detail::wrap<Integer, Bits>(x);
  }
  constexpr Integer reciprocal(Integer a) const requires(Bits == 1) { return unit_inverse(a); }
  std::vector<Integer> elements() const requires(Bits <= 8) { return detail::all_integers<Integer, Bits>(); }
};

}  // namespace shoal::algebra
