// h(δ): how much a unit takes part in what happens δ away on the lattice. For host and device.
#pragma once

#include <cmath>

#include <shoal/core/host_device.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// A neighbourhood at one radius.
struct neighborhood_function {
  som::neighborhood kind = som::neighborhood::gaussian;
  double radius = 0;
  double cutoff = 0;  ///< in radii; 0: none

  /// h of the squared distance δ².
  SHOAL_HD double operator()(double squared_distance) const {
    if (!(radius > 0)) return squared_distance > 0 ? 0.0 : 1.0;
    const double distance = std::sqrt(squared_distance);
    if (cutoff > 0 && distance > cutoff * radius) return 0.0;
    const double ratio = squared_distance / radius / radius;  // the square of a tiny radius would be zero
    switch (kind) {
      case som::neighborhood::gaussian:
        return std::exp(-0.5 * ratio);
      case som::neighborhood::bubble:
        return distance <= radius ? 1.0 : 0.0;
      case som::neighborhood::mexican_hat:
        return ratio > 1500.0 ? 0.0
                              : (1.0 - ratio) * std::exp(-0.5 * ratio);  // exp is zero there, ratio may be infinite
      case som::neighborhood::triangle:
        break;
    }
    return distance < radius ? 1.0 - distance / radius : 0.0;
  }

  /// True where h(δ) is the product of an h of the distance along the rows of the map and one across them.
  SHOAL_HD bool separable() const { return kind == som::neighborhood::gaussian && !(cutoff > 0); }

  /// h(δ) as a sum of products of one factor of the distance along the rows of the map and one across them: so many of
  /// them, none where there is no such sum.
  SHOAL_HD int products() const {
    if (cutoff > 0) return 0;
    return kind == som::neighborhood::gaussian ? 1 : kind == som::neighborhood::mexican_hat ? 2 : 0;
  }
  /// The factors of a product at a squared distance along the rows, or across them. With a² and b² in radii the mexican
  /// hat is (1 − a²)e^(−a²/2) · e^(−b²/2) + e^(−a²/2) · (−b²)e^(−b²/2).
  SHOAL_HD double factor(int product, bool across, double squared_distance) const {
    const neighborhood_function gaussian{som::neighborhood::gaussian, radius, 0};
    if (kind == som::neighborhood::gaussian || (product == 0) == across) return gaussian(squared_distance);
    const double all = neighborhood_function{kind, radius, 0}(squared_distance);
    return product == 0 ? all : all - gaussian(squared_distance);
  }

  /// False where h may be below zero.
  SHOAL_HD bool never_negative() const { return kind != som::neighborhood::mexican_hat; }
};

/// A unit whose Σ|h|·n is below this stays where it is: the terms of such a sum may be below the normal numbers, and a
/// quotient of two of them would be noise.
inline constexpr double least_pull = 1e-290;

}  // namespace shoal::som
