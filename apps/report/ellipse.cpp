// The ellipse of a two-dimensional covariance.
#include "report/ellipse.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Eigenvalues>

namespace shoal::report {

ellipse covariance_ellipse(double xx, double xy, double yy) {
  if (!std::isfinite(xx) || !std::isfinite(xy) || !std::isfinite(yy)) return {};
  Eigen::Matrix2d covariance;
  covariance << xx, xy, xy, yy;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> solver(covariance);
  const Eigen::Vector2d direction = solver.eigenvectors().col(1);
  double angle = std::atan2(direction.y(), direction.x());
  // An axis has no sign: keep the half turn that starts just above −π/2.
  if (angle > std::numbers::pi / 2) angle -= std::numbers::pi;
  if (angle <= -std::numbers::pi / 2) angle += std::numbers::pi;
  return {std::sqrt(std::max(0.0, solver.eigenvalues()(1))), std::sqrt(std::max(0.0, solver.eigenvalues()(0))), angle};
}

}  // namespace shoal::report
