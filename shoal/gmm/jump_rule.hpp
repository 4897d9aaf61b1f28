// When a mean has moved so far in a step that moments about its old place no longer tell its covariance: the rule
// alone, for hosts and GPUs.
#pragma once

#include <cstddef>

#include <shoal/core/host_device.hpp>

namespace shoal::gmm {

/// What sums of the rows' scalar allow. A variance is Q/W − δ²; where δ² is the greater part of Q/W, the digits that
/// both share are lost.
struct jump_limit {
  double ratio;       ///< δ² may be so many times the variance: half of the digits are left
  double resolution;  ///< (|δ| / |μ|)² below which no centre of that scalar is nearer to the mean
};

/// Sums of float32 hold 20 bits or more (24, less what 128 additions lose), and float64's 52.
SHOAL_HD constexpr jump_limit jump_limit_of(std::size_t scalar_bytes) {
  return scalar_bytes == 4 ? jump_limit{0x1p10, 0x1p-42} : jump_limit{0x1p26, 0x1p-100};
}

/// Whether a nearer centre would help: δ² is greater than Q/W − δ², which has rounding of its own, and greater than
/// what the scalar can tell of μ (`place` is μ²). Of one column, or of the sums of several.
SHOAL_HD inline bool nearer_helps(double between, double second, double place, const jump_limit& limit) {
  return between > second - between && between > limit.resolution * place;
}

/// Whether variances with the errors that δ² (`between`) left in them are too rough. `variance` is Q/W − δ² and
/// regularization, or the least that a covariance leaves in any direction.
SHOAL_HD inline bool outweighs(double between, double variance, const jump_limit& limit) {
  return between > limit.ratio * variance;
}

}  // namespace shoal::gmm
