// Real numbers as floating point holds them: a field whose laws hold up to rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include <shoal/algebra/ring.hpp>

namespace shoal::algebra {

/// Addition of floating-point numbers. Associative up to 4ε·Σ|operand| (two roundings on each side, each at most half
/// an ε of a partial sum); all else is exact. Values are finite and sums do not overflow. The identity is −0, not +0:
/// x + (−0) is x to the bit for every x, while −0 + 0 is +0. A sum of nothing is therefore −0.
template <std::floating_point Real>
struct real_addition {
  using value_type = Real;
  static constexpr operation_laws laws{
      .associative = law::approximate, .commutative = law::exact, .identity = law::exact, .inverse = law::exact};

  constexpr Real combine(Real a, Real b) const { return a + b; }
  constexpr Real identity() const { return Real{-0.0}; }
  constexpr Real inverse(Real a) const { return -a; }
  bool close(Real left, Real right, operands_of<Real> operands) const {
    Real size = 0;
    for (const Real x : operands) size += std::abs(x);
    return std::abs(left - right) <= 4 * std::numeric_limits<Real>::epsilon() * size;
  }
};

/// Multiplication of floating-point numbers. Associative up to 4ε relative, and up to a few subnormal steps times the
/// largest operand where a partial product underflows.
template <std::floating_point Real>
struct real_multiplication {
  using value_type = Real;
  static constexpr operation_laws laws{
      .associative = law::approximate, .commutative = law::exact, .identity = law::exact};

  constexpr Real combine(Real a, Real b) const { return a * b; }
  constexpr Real identity() const { return 1; }
  bool close(Real left, Real right, operands_of<Real> operands) const {
    Real largest = 1;
    for (const Real x : operands) largest = std::max(largest, std::abs(x));
    return std::abs(left - right) <=
           4 * std::numeric_limits<Real>::epsilon() * std::max(std::abs(left), std::abs(right)) +
               4 * std::numeric_limits<Real>::denorm_min() * largest;
  }
};

/// The field of reals. Distributes up to 4ε|factor|·(|x| + |y|); x·(1/x) is 1 up to ε. Domain: finite values whose
/// sums, products and reciprocals neither overflow nor are subnormal.
template <std::floating_point Real>
struct reals {
  using value_type = Real;
  static constexpr ring_laws laws{.left_distributive = law::approximate,
                                  .right_distributive = law::approximate,
                                  .annihilating_zero = law::exact,
                                  .reciprocal = law::approximate};

  constexpr real_addition<Real> addition() const { return {}; }
  constexpr real_multiplication<Real> multiplication() const { return {}; }
  constexpr Real reciprocal(Real a) const { return 1 / a; }

  /// `operands` are {factor, x, y} for a distributive law and {a} for that of the reciprocal.
  bool close(Real left, Real right, operands_of<Real> operands) const {
    constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
    if (operands.size() == 1) return std::abs(left - right) <= epsilon;
    const Real factor = operands[0], x = operands[1], y = operands[2];
    return std::abs(left - right) <=
           4 * epsilon * (std::abs(factor * x) + std::abs(factor * y)) + 4 * std::numeric_limits<Real>::denorm_min();
  }
};

}  // namespace shoal::algebra
