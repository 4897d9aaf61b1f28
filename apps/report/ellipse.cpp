// The ellipse of a covariance of two columns, and the ellipsoid of one of three.
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

std::array<double, 9> covariance_ellipsoid(const std::array<double, 9>& covariance) {
  std::array<double, 9> axes{};
  if (!std::all_of(covariance.begin(), covariance.end(), [](double entry) { return std::isfinite(entry); }))
    return axes;
  const Eigen::Matrix3d matrix = Eigen::Map<const Eigen::Matrix3d>(covariance.data());
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(matrix);
  Eigen::Matrix3d directions = solver.eigenvectors().rowwise().reverse();
  for (int i = 0; i < 2; ++i) {
    Eigen::Index greatest = 0;
    directions.col(i).cwiseAbs().maxCoeff(&greatest);
    if (directions(greatest, i) < 0) directions.col(i) *= -1;
  }
  directions.col(2) = directions.col(0).cross(directions.col(1));
  const Eigen::Vector3d variances = solver.eigenvalues().reverse();
  const double least = 1e-6 * std::max(0.0, variances(0));
  for (int i = 0; i < 3; ++i) {
    const Eigen::Vector3d axis = directions.col(i) * std::sqrt(std::max(variances(i), least));
    std::copy_n(axis.data(), 3, axes.begin() + 3 * i);
  }
  return axes;
}

}  // namespace shoal::report
