// The ellipse of a two-dimensional covariance.
#pragma once

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

}  // namespace shoal::report
