#include "viewer/cloud_scene.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

#include "report/cloud.hpp"
#include "report/ellipse.hpp"
#include "report/subsample.hpp"
#include "report/text.hpp"
#include "viewer/box.hpp"
#include "viewer/space.hpp"

namespace shoal::viewer {
namespace {

constexpr std::size_t most_rows_in_still = 4000;

// Faint where two groups claim a row alike, opaque where one has it alone.
std::uint16_t opacity_of(float strength, std::size_t groups) {
  constexpr double faintest = 0.12;
  const double least = 1.0 / static_cast<double>(std::max<std::size_t>(groups, 1));
  const double share = groups < 2 ? 1 : std::clamp((static_cast<double>(strength) - least) / (1 - least), 0.0, 1.0);
  return static_cast<std::uint16_t>(std::lround(255 * (faintest + (1 - faintest) * share)));
}

// Gives each group without a covariance that of its rows, where there are enough.
bool add_covariances(report::cloud& cloud) {
  if (cloud.labels.empty() || cloud.shapes.empty()) return false;
  struct sums {
    std::size_t rows = 0;
    std::array<double, 9> products{};
  };
  std::vector<sums> of(cloud.shapes.size());
  for (std::size_t i = 0; i < cloud.rows.rows(); ++i) {
    const auto group = static_cast<std::size_t>(cloud.labels[i]);
    if (group >= of.size() || !cloud.shapes[group].covariance.empty()) continue;
    const double* row = cloud.rows.row(i);
    if (!std::isfinite(row[0] + row[1] + row[2])) continue;
    ++of[group].rows;
    const std::vector<double>& mean = cloud.shapes[group].mean;
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b) of[group].products[3 * a + b] += (row[a] - mean[a]) * (row[b] - mean[b]);
  }
  bool added = false;
  for (std::size_t k = 0; k < of.size(); ++k) {
    if (of[k].rows < 4) continue;
    for (double& product : of[k].products) product /= static_cast<double>(of[k].rows);
    cloud.shapes[k].covariance.assign(of[k].products.begin(), of[k].products.end());
    added = true;
  }
  return added;
}

scene_group group_of(const report::cloud& cloud, std::size_t k, const box& place) {
  const report::group_shape& shape = cloud.shapes[k];
  scene_group made;
  made.number = k;
  made.name = fmt::format("{} {}", cloud.group_word, k);
  std::array<double, 9> covariance{};
  for (std::size_t a = 0; a < 3; ++a) {
    made.centre[a] = place.place(a, shape.mean[a]);
    for (std::size_t b = 0; b < 3 && !shape.covariance.empty(); ++b)
      covariance[3 * a + b] = place.factor(a) * place.factor(b) * shape.covariance[3 * a + b];
  }
  if (!shape.covariance.empty()) made.axes = report::covariance_ellipsoid(covariance);
  return made;
}

// The three quantities, every pair of them, of a few thousand rows.
report::picture still_of(const report::cloud& cloud, std::size_t dimensions) {
  const std::vector<std::size_t> drawn = report::subsample(cloud.rows.rows(), most_rows_in_still);
  report::cloud shown = cloud;
  std::vector<double> rows;
  std::vector<std::int32_t> labels;
  for (const std::size_t i : drawn) {
    rows.insert(rows.end(), cloud.rows.row(i), cloud.rows.row(i) + dimensions);
    if (!cloud.labels.empty()) labels.push_back(cloud.labels[i]);
  }
  shown.rows = {rows.data(), drawn.size(), dimensions};
  shown.labels = labels;
  shown.column_names.resize(dimensions);
  for (report::group_shape& shape : shown.shapes) {
    shape.mean.resize(dimensions);
    std::vector<double> covariance;
    for (std::size_t a = 0; a < dimensions && !shape.covariance.empty(); ++a)
      for (std::size_t b = 0; b < dimensions; ++b) covariance.push_back(shape.covariance[3 * a + b]);
    shape.covariance = std::move(covariance);
  }
  return report::draw_cloud(shown, "The rows and their groups");
}

}  // namespace

double contour_distance(double share, std::size_t columns) {
  if (!(share > 0 && share < 1))
    throw bad_argument(fmt::format("the share {} of a contour must lie between 0 and 1", share));
  if (columns == 2) return std::sqrt(-2 * std::log1p(-share));
  // The distribution function of the chi distribution of one or three degrees of freedom.
  const auto within = [columns](double r) {
    const double line = std::erf(r / std::numbers::sqrt2);
    return columns == 1 ? line : line - std::sqrt(2 / std::numbers::pi) * r * std::exp(-r * r / 2);
  };
  double low = 0, high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (within(middle) < share ? low : high) = middle;
  }
  return high;
}

scene cloud_scene(const cloud_request& request) {
  report::check(request.cloud);
  const std::size_t rows = request.cloud.rows.rows();
  if (rows > most_points) {
    throw bad_argument(fmt::format("{} rows; at most {} can be shown, which subsample() chooses", rows, most_points));
  }
  if (!request.strengths.empty() && request.strengths.size() != rows)
    throw bad_argument(fmt::format("{} responsibilities for {} rows; give one a row", request.strengths.size(), rows));
  const space chosen = choose_space(request.cloud, request.axes);
  projected shown = project(request.cloud, chosen);
  report::cloud& cloud = shown.cloud;
  const bool of_rows = add_covariances(cloud);

  std::array<report::range, 3> ranges;
  for (std::size_t i = 0; i < 3; ++i)
    if (!chosen.names[i].empty()) ranges[i] = report::column_range(cloud, i);
  const box place(chosen.names, ranges, chosen.one_scale);

  scene made;
  made.title = request.title;
  made.subtitle = request.subtitle;
  made.axes = place.axes();
  std::size_t outside = 0;
  scene_points points;
  points.packed.reserve(4 * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const double* row = cloud.rows.row(i);
    if (!std::isfinite(row[0] + row[1] + row[2]) || !place.holds(0, row[0]) || !place.holds(1, row[1]) ||
        !place.holds(2, row[2])) {
      ++outside;
      continue;
    }
    for (std::size_t a = 0; a < 3; ++a) points.packed.push_back(place.quantised(a, row[a]));
    const auto group = cloud.labels.empty() ? 0u : static_cast<unsigned>(cloud.labels[i]) % 256u;
    const unsigned opacity = request.strengths.empty() ? 255u : opacity_of(request.strengths[i], cloud.shapes.size());
    points.packed.push_back(static_cast<std::uint16_t>(256u * group + opacity));
  }
  if (rows > 0) made.points = std::move(points);
  bool contours = false;
  for (std::size_t k = 0; k < cloud.shapes.size(); ++k) {
    const std::vector<double>& mean = cloud.shapes[k].mean;
    if (!std::isfinite(mean[0] + mean[1] + mean[2])) continue;
    made.groups.push_back(group_of(cloud, k, place));
    contours = contours || made.groups.back().axes.has_value();
  }
  if (contours)
    for (const double share : request.quantiles)
      made.contours.push_back({share, contour_distance(share, chosen.dimensions())});

  if (request.rows_in_all > rows)
    made.notes.push_back(
        fmt::format("{} of {} are shown.", report::count(rows), report::counted(request.rows_in_all, "row")));
  if (outside > 0)
    made.notes.push_back(fmt::format("{} far out or not finite and left out.",
                                     outside == 1 ? "1 row is" : fmt::format("{} rows are", report::count(outside))));
  if (contours) {
    std::vector<std::string> shares;
    for (const contour& one : made.contours) shares.push_back(report::number(100 * one.share) + "\u00a0%");
    made.notes.push_back(
        fmt::format("Ellipsoids hold {} of a {}'s rows{}.", fmt::join(shares, " and "), cloud.group_word,
                    of_rows ? ", by the covariance of the rows that are shown" : ", if it is Gaussian"));
  }
  if (!request.strengths.empty()) made.notes.push_back("The fainter a point, the less its component is certain.");
  made.still = still_of(cloud, chosen.dimensions());
  return made;
}

}  // namespace shoal::viewer
