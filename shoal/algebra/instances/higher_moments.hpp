// Moments of order three and four: skewness and kurtosis in one pass, in parts that merge.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <shoal/algebra/group.hpp>
#include <shoal/algebra/instances/moments.hpp>

namespace shoal::algebra {

/// Total weight, mean, and Σ w(x − mean)ᵖ for p = 2, 3 and 4 of some numbers.
struct higher_moments_value {
  double weight = 0;
  double mean = 0;
  double squares = 0;
  double cubes = 0;
  double fourths = 0;

  /// Σ w(x − mean)² / Σ w, the population variance; 0 without weight.
  double variance() const { return weight > 0 ? squares / weight : 0; }
  /// The third moment over the variance to the power 3/2 (population skewness, g₁): 0 for what is symmetric, positive
  /// for a long tail to the right. NaN without spread.
  double skewness() const {
    return squares > 0 ? cubes / weight / (variance() * std::sqrt(variance()))
                       : std::numeric_limits<double>::quiet_NaN();
  }
  /// The fourth moment over the square of the variance, minus the 3 of a normal distribution (g₂). NaN without spread.
  double excess_kurtosis() const {
    return squares > 0 ? fourths / weight / (variance() * variance()) - 3 : std::numeric_limits<double>::quiet_NaN();
  }

  friend bool operator==(const higher_moments_value&, const higher_moments_value&) = default;
};

/// Moments up to the fourth combined by the formulas of Pébay (Formulas for robust, one-pass parallel computation of
/// covariances and arbitrary-order statistical moments, Sandia report SAND2008-6212, 2008, equations 2.1 to 2.4), with
/// weights in the place of counts. Weights are not negative.
struct higher_moments {
  using value_type = higher_moments_value;
  static constexpr operation_laws laws = rounded_moments;

  /// One observation.
  static constexpr higher_moments_value of(double x, double weight = 1) { return {weight, x, 0, 0, 0}; }

  constexpr higher_moments_value identity() const { return {}; }
  constexpr void combine_into(higher_moments_value& into, const higher_moments_value& from) const {
    if (from.weight == 0) return;
    if (into.weight == 0) {
      into = from;
      return;
    }
    const double weight = into.weight + from.weight;
    const double shift = from.mean - into.mean;
    const double share = from.weight / weight, rest = into.weight / weight;
    // What the two means, each with its side's weight, add about the mean of both: with a = share and b = rest,
    // Σ w(μ − mean)² = n·ab·δ², and ab·(b − a) and ab·(b² − ab + a²) for the third and fourth powers.
    const double square = shift * shift * (into.weight * share);
    into.fourths += from.fourths + square * shift * shift * (rest * rest - rest * share + share * share) +
                    6 * shift * shift * (rest * rest * from.squares + share * share * into.squares) +
                    4 * shift * (rest * from.cubes - share * into.cubes);
    into.cubes +=
        from.cubes + square * shift * (rest - share) + 3 * shift * (rest * from.squares - share * into.squares);
    into.squares += from.squares + square;
    into.mean += shift * share;
    into.weight = weight;
  }

  /// Weights to 4ε relative and means to 16ε of the largest mean, as for moments; each sum of powers to 64ε of the sum
  /// of absolute powers that it could be made of, plus what an error of that size in a mean does to it.
  bool close(const higher_moments_value& left, const higher_moments_value& right,
             operands_of<higher_moments_value> operands) const {
    constexpr double epsilon = std::numeric_limits<double>::epsilon();
    double weight = 0, squares = 0, cubes = 0, fourths = 0, largest = 0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const higher_moments_value& part : operands) {
      if (part.weight == 0) continue;
      weight += part.weight;
      squares += part.squares;
      cubes += std::sqrt(part.squares * part.fourths);  // Σ|x − mean|³ is at most this (Cauchy and Schwarz)
      fourths += part.fourths;
      largest = std::max(largest, std::abs(part.mean));
      low = std::min(low, part.mean);
      high = std::max(high, part.mean);
    }
    const double mean_error = 16 * epsilon * largest;
    const double range = std::max(0.0, high - low) + mean_error;
    const double first = std::sqrt(weight * squares) + weight * range;
    const double second = squares + weight * range * range;
    const double third = cubes + 3 * range * squares + weight * range * range * range;
    const double fourth =
        fourths + 4 * range * cubes + 6 * range * range * squares + weight * range * range * range * range;
    return std::abs(left.weight - right.weight) <= 4 * epsilon * weight &&
           std::abs(left.mean - right.mean) <= mean_error &&
           std::abs(left.squares - right.squares) <= 64 * epsilon * second + 2 * mean_error * first &&
           std::abs(left.cubes - right.cubes) <= 64 * epsilon * third + 3 * mean_error * second &&
           std::abs(left.fourths - right.fourths) <= 64 * epsilon * fourth + 4 * mean_error * third;
  }
};

}  // namespace shoal::algebra
