// Rows in groups, as points and ellipsoids: a mixture, or clusters.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/chart.hpp"
#include "viewer/scene.hpp"

namespace shoal::viewer {

struct cloud_request {
  std::string title;
  std::string subtitle;
  /// Rows, which may be none, with their groups. Groups without a covariance get that of their rows.
  report::cloud cloud;
  std::span<const float> strengths;             ///< [rows] greatest responsibilities in [1/K, 1]; empty: all opaque
  std::size_t rows_in_all = 0;                  ///< of the data; 0: as many as the cloud's
  std::vector<std::string> axes;                ///< choose_space()
  std::vector<double> quantiles = {0.5, 0.95};  ///< shares of a group's rows that its contours hold
};

/// At most this many rows are points.
inline constexpr std::size_t most_points = 1'000'000;

/// Throws bad_argument for axes that are not there, quantiles outside (0, 1), and labels or shapes of other sizes.
scene cloud_scene(const cloud_request& request);

/// The Mahalanobis distance within which the share of a Gaussian of 1 to 3 columns lies.
double contour_distance(double share, std::size_t columns);

}  // namespace shoal::viewer
