// Rows and units of few columns as the search by threads reads them: in float32, float64 ones too.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// A coordinate about the centre.
__device__ inline float searched_number(const device_units<float>&, float value) { return value; }
__device__ inline float searched_number(const device_units<double>& units, double value) {
  return static_cast<float>(value * units.searched_in);
}

/// What the scores of the unit at a place begin with.
__device__ inline float searched_start(const device_units<float>& units, int place) { return units.starts[place]; }
__device__ inline float searched_start(const device_units<double>& units, int place) {
  constexpr double beyond = 0x1p126;  // no unit is farther in float32
  return static_cast<float>(fmin(units.starts[place] * units.searched_in * units.searched_in, beyond));
}

/// score_bound() in float32, rounded up, for a row of this norm whose least score is `least`. Units that are farther
/// from the centre than the row and the unit found, by twice, are farther from the row; with a mexican hat a few are,
/// far enough to put all others in doubt by their norm. Squares that are lost below the range of float32 leave less
/// than 2⁻⁵⁹ of a length. `terms`: how many roundings one column's part of a score goes through.
__device__ inline float short_bound(int columns, int terms, float least, float norm, float unit_norm) {
  constexpr float u = 1.06f * 0x1p-24f;
  const float apart = 1.001f * sqrtf(fmaxf(0.0f, norm * norm + 2 * least) + 0x1p-20f * norm * norm) + 0x1p-59f;
  const float near_norm = fminf(unit_norm, 2.001f * (norm + apart));
  const float magnitude = norm * near_norm + near_norm * near_norm;
  if (!(magnitude < 0x1p120f)) return INFINITY;  // sums may have left float's range on their way
  const auto of_definition = static_cast<float>(columns + 8);
  const float error = static_cast<float>(terms + 6) * u * magnitude + of_definition * 0x1p-51f * magnitude +
                      4 * of_definition * 0x1p-126f;
  const float bound = least + 2.001f * error;
  return bound + 4 * u * fabsf(bound);
}
template <int Columns>
__device__ inline float short_bound(float least, float norm, float unit_norm) {
  return short_bound(Columns, Columns, least, norm, unit_norm);
}

}  // namespace shoal::som
