// The ellipse of a covariance of two columns, and the ellipsoid of one of three.
#pragma once

#include <array>

namespace shoal::report {

/// Semi-axes of the contour at Mahalanobis distance 1, and the direction of the longer one.
struct ellipse {
  double major = 0;  ///< ≥ minor
  double minor = 0;  ///< ≥ 0
  double angle = 0;  ///< of the major axis, in radians in (−π/2, π/2], counter-clockwise from the x axis
};

/// From the eigenvectors of [[xx, xy], [xy, yy]]; an eigenvalue that rounding made negative counts as zero. All zero
/// when an entry is not finite.
ellipse covariance_ellipse(double xx, double xy, double yy);

/// Semi-axes of the contour at Mahalanobis distance 1, one behind the other: the longest first, right-handed, the
/// greatest entry of the first two positive. `covariance` is symmetric. Eigenvalues below 1e-6 of the greatest count
/// as that much, so that no axis is lost. All zero when an entry is not finite.
std::array<double, 9> covariance_ellipsoid(const std::array<double, 9>& covariance);

}  // namespace shoal::report
