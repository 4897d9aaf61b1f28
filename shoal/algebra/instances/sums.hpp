// Componentwise sums: vectors of a dimension known at run time, and the space that real ones form.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

#include <shoal/algebra/compose.hpp>
#include <shoal/algebra/instances/integers.hpp>
#include <shoal/algebra/instances/reals.hpp>
#include <shoal/algebra/module.hpp>

namespace shoal::algebra {

namespace detail {
template <class Number>
struct addition_for {
  using type = integer_addition<Number>;
};
template <std::floating_point Number>
struct addition_for<Number> {
  using type = real_addition<Number>;
};
}  // namespace detail

/// Addition of one number: rounded for a floating-point type, wrapping for an integer type.
template <class Number>
using number_addition = typename detail::addition_for<Number>::type;

/// Sums of vectors of `dimension` numbers, component by component: the abelian group that most statistics are.
template <class Number>
using componentwise_sum = pointwise<number_addition<Number>>;

/// The vector space Rᵈ.
template <std::floating_point Real>
class real_vectors {
 public:
  static constexpr module_laws laws{.distributes_over_vectors = law::approximate,
                                    .distributes_over_scalars = law::approximate,
                                    .associates = law::approximate,
                                    .unit = law::exact};

  explicit real_vectors(std::size_t dimension) : vectors_(dimension) {}

  reals<Real> scalars() const { return {}; }
  const componentwise_sum<Real>& vectors() const { return vectors_; }
  std::vector<Real> scale(Real scalar, const std::vector<Real>& vector) const {
    std::vector<Real> result = vector;
    for (Real& x : result) x *= scalar;
    return result;
  }

  /// Component by component: 4ε times the product of the sums of the absolute scalars and of the absolute components,
  /// which covers both distributive laws; for (st)v = s(tv), 4ε relative.
  bool close(const std::vector<Real>& left, const std::vector<Real>& right, operands_of<Real> scalars,
             operands_of<std::vector<Real>> vectors) const {
    constexpr Real epsilon = std::numeric_limits<Real>::epsilon();
    Real scalar_size = 0;
    for (const Real s : scalars) scalar_size += std::abs(s);
    for (std::size_t i = 0; i < left.size(); ++i) {
      Real size = 0;
      for (const std::vector<Real>& v : vectors) size += scalar_size * std::abs(v[i]);
      size = std::max({size, std::abs(left[i]), std::abs(right[i])});
      if (!(std::abs(left[i] - right[i]) <= 4 * epsilon * size + 4 * std::numeric_limits<Real>::denorm_min()))
        return false;
    }
    return left.size() == right.size();
  }

 private:
  componentwise_sum<Real> vectors_;
};

}  // namespace shoal::algebra
