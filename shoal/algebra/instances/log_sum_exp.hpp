// log(eᵃ + eᵇ), the addition of numbers held by their logarithms.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include <shoal/algebra/instances/reals.hpp>
#include <shoal/core/host_device.hpp>

namespace shoal::algebra {

/// log(eᵃ + eᵇ) = m + log1p(e^(n − m)) with m the greater and n the lesser, which neither overflows nor underflows.
/// Two equal infinities would give ∞ − ∞, not a number; they are their own sum. Identity: −∞, the logarithm of 0.
/// Associative up to 8ε(1 + largest finite |operand|).
template <std::floating_point Real>
struct log_sum_exp {
  using value_type = Real;
  static constexpr operation_laws laws{
      .associative = law::approximate, .commutative = law::exact, .identity = law::exact};

  SHOAL_HD Real combine(Real a, Real b) const {
    const Real greater = std::max(a, b), lesser = std::min(a, b);
    if (std::isinf(greater)) return greater;
    return greater + std::log1p(std::exp(lesser - greater));
  }
  constexpr Real identity() const { return -std::numeric_limits<Real>::infinity(); }
  bool close(Real left, Real right, operands_of<Real> operands) const {
    Real largest = 1;
    for (const Real x : operands)
      if (std::isfinite(x)) largest = std::max(largest, 1 + std::abs(x));
    return std::abs(left - right) <= 8 * std::numeric_limits<Real>::epsilon() * largest;
  }
};

/// Non-negative numbers held by their logarithms: addition is log_sum_exp, multiplication is +, 0 is −∞ and 1 is 0.
/// Domain: −∞ and finite values (+∞ times 0 would be ∞ − ∞).
template <std::floating_point Real>
struct log_semiring {
  using value_type = Real;
  static constexpr ring_laws laws{
      .left_distributive = law::approximate, .right_distributive = law::approximate, .annihilating_zero = law::exact};

  constexpr log_sum_exp<Real> addition() const { return {}; }
  constexpr real_addition<Real> multiplication() const { return {}; }
  bool close(Real left, Real right, operands_of<Real> operands) const {
    Real size = 1;
    for (const Real x : operands)
      if (std::isfinite(x)) size += std::abs(x);
    return std::abs(left - right) <= 8 * std::numeric_limits<Real>::epsilon() * size;
  }
};

}  // namespace shoal::algebra
