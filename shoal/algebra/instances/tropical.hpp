// The tropical semiring: minimum for addition, + for multiplication.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include <shoal/algebra/instances/extrema.hpp>
#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

/// Lengths laid end to end. The greatest value of the type (+∞ for floating point) means "no way" and absorbs
/// everything. Domain: no NaN, no −∞; finite integer sums must stay within the type.
template <class Length>
struct path_length {
  using value_type = Length;
  static constexpr law held = std::floating_point<Length> ? law::approximate : law::exact;
  static constexpr operation_laws laws{.associative = held, .commutative = law::exact, .identity = law::exact};

  constexpr Length combine(Length a, Length b) const {
    constexpr Length none = detail::greatest_key<Length>();
    return a == none || b == none ? none : static_cast<Length>(a + b);
  }
  constexpr Length identity() const { return 0; }
  /// 4ε·Σ|operand|, as for addition of reals.
  bool close(Length left, Length right, operands_of<Length> operands) const requires std::floating_point<Length> {
    Length size = 0;
    for (const Length x : operands) size += std::abs(x);
    return std::abs(left - right) <= 4 * std::numeric_limits<Length>::epsilon() * size;
  }
};

/// (min, +): 0 is "no way", 1 is the length 0. The product of matrices over it extends paths, its powers are shortest
/// paths. Distributes exactly, also in floating point, since rounding keeps order.
template <class Length>
struct tropical_semiring {
  using value_type = Length;
  static constexpr ring_laws laws{
      .left_distributive = law::exact, .right_distributive = law::exact, .annihilating_zero = law::exact};
  constexpr minimum<Length> addition() const { return {}; }
  constexpr path_length<Length> multiplication() const { return {}; }
};

}  // namespace shoal::algebra
