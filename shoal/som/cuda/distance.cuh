// Distances from a row to a unit: in Scalar from differences, and the float64 definition that decides.
#pragma once

#include <limits>

#include <shoal/som/metric.hpp>

namespace shoal::som {

/// What one column adds to a distance in Scalar: squared for the Euclidean metric, the negated product for the cosine.
template <metric Metric, class Scalar>
__device__ inline Scalar add_column(Scalar sum, Scalar x, Scalar unit) {
  if constexpr (Metric == metric::cosine) return fma(-x, unit, sum);
  const Scalar difference = x - unit;
  if constexpr (Metric == metric::euclidean) return fma(difference, difference, sum);
  if constexpr (Metric == metric::taxicab) return sum + fabs(difference);
  return fmax(sum, fabs(difference));
}

/// The same in float64, of which nothing is contracted: sums from the first column to the last have the bits of the
/// host's.
template <metric Metric>
__device__ inline double add_exactly(double sum, double x, double unit) {
  if constexpr (Metric == metric::cosine) return __dsub_rn(sum, __dmul_rn(x, unit));
  const double difference = __dsub_rn(x, unit);
  if constexpr (Metric == metric::euclidean) return __dadd_rn(sum, __dmul_rn(difference, difference));
  if constexpr (Metric == metric::taxicab) return __dadd_rn(sum, fabs(difference));
  return fmax(sum, fabs(difference));
}

/// A row's norm in the metric, by one column and in the end.
template <metric Metric>
__device__ inline double add_to_norm(double sum, double x) {
  if constexpr (Metric == metric::taxicab) return sum + fabs(x);
  if constexpr (Metric == metric::chebyshev) return fmax(sum, fabs(x));
  return fma(x, x, sum);
}
template <metric Metric>
__device__ inline double join_norms(double a, double b) {
  if constexpr (Metric == metric::chebyshev) return fmax(a, b);
  return a + b;
}
template <metric Metric>
__device__ inline double norm_of(double sum) {
  if constexpr (Metric == metric::euclidean || Metric == metric::cosine) return sqrt(sum);
  return sum;
}

/// What the roundings of the float64 definition may move half a squared distance, for the cosine a negated product, by.
template <metric Metric>
__device__ inline double definition_error(double row_norm, double unit_norm, int columns) {
  constexpr double u = 1.05 * std::numeric_limits<double>::epsilon() / 2;
  // Of the cosine's units, which are of length 1 before they are centred, the last place is rounded too.
  if constexpr (Metric == metric::cosine) return (columns + 8) * u * row_norm;
  return 0.5 * (columns + 8) * u * (row_norm + unit_norm) * (row_norm + unit_norm);
}

/// The greatest score in Scalar, of the kind that the tensor cores compute, that a unit may have which is as near as
/// the one of score `least`: rounding x′, c′ and ‖c′‖²/2 and summing d columns moves scores by at most (d + 4)
/// roundings u of ‖x′‖·‖c′‖ + ‖c′‖². Where a sum is one of sums of few columns each, `terms` is how many roundings one
/// column's part goes through, else d.
template <metric Metric, class Scalar>
__device__ inline Scalar score_bound(Scalar least, double row_norm, double unit_norm, int columns, int terms) {
  constexpr double u = 1.05 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  constexpr double smallest = static_cast<double>(std::numeric_limits<Scalar>::min());
  const double magnitude = row_norm * unit_norm + (Metric == metric::cosine ? 0.0 : unit_norm * unit_norm);
  // Sums may have left the range of numbers on their way.
  if (!(magnitude < (sizeof(Scalar) == 4 ? 0x1p120 : 0x1p1000))) return static_cast<Scalar>(INFINITY);
  const double error = (terms + 6) * u * magnitude + definition_error<Metric>(row_norm, unit_norm, columns) +
                       4.0 * (columns + 8) * smallest;
  const double bound = static_cast<double>(least) + 2 * error;
  return static_cast<Scalar>(bound + 4 * u * fabs(bound));
}

/// The greatest distance in Scalar that a unit may have which is as near as the one of distance `least`. Rounding x′
/// and c′ moves a distance by at most `moved`, u · (‖x′‖ + ‖c′‖) and some of the squares' in denormals; summing d
/// columns changes it by (d + 3) roundings u. float64 distances in Scalar = double differ from the definition's the
/// same way.
template <metric Metric, class Scalar>
__device__ inline Scalar candidate_bound(Scalar least, double row_norm, double unit_norm, int columns) {
  constexpr double u = 1.05 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  constexpr double smallest = static_cast<double>(std::numeric_limits<Scalar>::min());
  const double wide = static_cast<double>(least), roundings = 2.1 * (columns + 4) * u;
  double bound = 0;
  if constexpr (Metric == metric::cosine) {
    bound = wide + (2 * roundings) * row_norm * unit_norm + 2 * definition_error<Metric>(row_norm, unit_norm, columns);
  } else if constexpr (Metric == metric::euclidean) {
    const double root = sqrt(wide) * (1 + roundings) + 4.2 * u * (row_norm + unit_norm);
    bound = root * root;
  } else {
    bound = wide * (1 + 2 * roundings) + 4.2 * u * (row_norm + unit_norm);
  }
  bound += 4.0 * (columns + 8) * smallest;
  return static_cast<Scalar>(bound * (1 + (bound > 0 ? 4 : -4) * u));
}

}  // namespace shoal::som
