// Separation of groups, from distances between rows and means in float64.
#include <shoal/metrics/separation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/executor.hpp>

namespace shoal::metrics {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double squared_distance(const double* a, const double* b, std::size_t columns) {
  double sum = 0;
  for (std::size_t j = 0; j < columns; ++j) sum += (a[j] - b[j]) * (a[j] - b[j]);
  return sum;
}

// Labels as numbers from 0, and the size of each group.
struct groups {
  groups(matrix_view<const double> rows, std::span<const std::int32_t> labels) : group_of(labels.size()) {
    if (labels.size() != rows.rows()) {
      throw bad_argument(
          fmt::format("{} labels were given for {} rows; give one for each row", labels.size(), rows.rows()));
    }
    std::vector<std::int32_t> known(labels.begin(), labels.end());
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    if (known.size() < 2 || known.size() >= rows.rows()) {
      throw bad_argument(
          fmt::format("{} groups of {} rows cannot be kept apart; there must be at least 2, and fewer than rows",
                      known.size(), rows.rows()));
    }
    sizes.assign(known.size(), 0);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      group_of[i] = static_cast<std::size_t>(std::lower_bound(known.begin(), known.end(), labels[i]) - known.begin());
      ++sizes[group_of[i]];
    }
  }

  std::vector<std::size_t> group_of;
  std::vector<std::size_t> sizes;
};

// [K][d] means of the groups; sums are of differences to the first row, which keeps far data exact.
std::vector<double> means_of(matrix_view<const double> rows, const groups& cut) {
  const std::size_t columns = rows.columns();
  std::vector<double> means(cut.sizes.size() * columns, 0.0);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    double* const mean = &means[cut.group_of[i] * columns];
    for (std::size_t j = 0; j < columns; ++j) mean[j] += rows(i, j) - rows(0, j);
  }
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    for (std::size_t j = 0; j < columns; ++j)
      means[k * columns + j] = rows(0, j) + means[k * columns + j] / static_cast<double>(cut.sizes[k]);
  }
  return means;
}

double width(double within, double other) {
  const double larger = std::max(within, other);
  return larger == 0 ? 0 : (other - within) / larger;
}

}  // namespace

double silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels, std::size_t threads) {
  const groups cut(rows, labels);
  constexpr std::size_t at_once = 64;
  const std::size_t tasks = (rows.rows() + at_once - 1) / at_once;
  std::vector<double> sums(tasks, 0.0);
  make_threads(threads)->run(tasks, 1, [&](std::size_t task, const team_member&) {
    std::vector<double> distances(cut.sizes.size());
    for (std::size_t i = task * at_once; i < std::min(rows.rows(), (task + 1) * at_once); ++i) {
      std::fill(distances.begin(), distances.end(), 0.0);
      for (std::size_t other = 0; other < rows.rows(); ++other) {
        distances[cut.group_of[other]] += std::sqrt(squared_distance(rows.row(i), rows.row(other), rows.columns()));
      }
      const std::size_t own = cut.group_of[i];
      if (cut.sizes[own] == 1) continue;
      double nearest = infinity;
      for (std::size_t k = 0; k < distances.size(); ++k) {
        if (k != own) nearest = std::min(nearest, distances[k] / static_cast<double>(cut.sizes[k]));
      }
      sums[task] += width(distances[own] / static_cast<double>(cut.sizes[own] - 1), nearest);
    }
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum / static_cast<double>(rows.rows());
}

double simplified_silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels,
                             matrix_view<const double> centroids) {
  if (labels.size() != rows.rows() || rows.rows() == 0 || centroids.rows() < 2 ||
      centroids.columns() != rows.columns()) {
    throw bad_argument(fmt::format(
        "{} labels, {} rows of {} columns and {} centroids of {} columns do not fit; give a label for each row and at "
        "least 2 centroids",
        labels.size(), rows.rows(), rows.columns(), centroids.rows(), centroids.columns()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= centroids.rows()) {
      throw bad_argument(fmt::format("row {} has label {}, which is no centroid's number", i, labels[i]));
    }
    double own = 0;
    double nearest = infinity;
    for (std::size_t k = 0; k < centroids.rows(); ++k) {
      const double distance = std::sqrt(squared_distance(rows.row(i), centroids.row(k), rows.columns()));
      (k == static_cast<std::size_t>(labels[i]) ? own : nearest) =
          k == static_cast<std::size_t>(labels[i]) ? distance : std::min(nearest, distance);
    }
    sum += width(own, nearest);
  }
  return sum / static_cast<double>(rows.rows());
}

double davies_bouldin_index(matrix_view<const double> rows, std::span<const std::int32_t> labels) {
  const groups cut(rows, labels);
  const std::size_t columns = rows.columns();
  const std::vector<double> means = means_of(rows, cut);
  std::vector<double> spread(cut.sizes.size(), 0.0);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    spread[cut.group_of[i]] += std::sqrt(squared_distance(rows.row(i), &means[cut.group_of[i] * columns], columns));
  }
  for (std::size_t k = 0; k < spread.size(); ++k) spread[k] /= static_cast<double>(cut.sizes[k]);
  double sum = 0;
  for (std::size_t k = 0; k < spread.size(); ++k) {
    double worst = 0;
    for (std::size_t other = 0; other < spread.size(); ++other) {
      if (other == k) continue;
      const double apart = std::sqrt(squared_distance(&means[k * columns], &means[other * columns], columns));
      if (apart > 0) worst = std::max(worst, (spread[k] + spread[other]) / apart);
    }
    sum += worst;
  }
  return sum / static_cast<double>(spread.size());
}

double calinski_harabasz_index(matrix_view<const double> rows, std::span<const std::int32_t> labels) {
  const groups cut(rows, labels);
  const std::size_t columns = rows.columns();
  const std::vector<double> means = means_of(rows, cut);
  std::vector<double> centre(columns, 0.0);
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    const double share = static_cast<double>(cut.sizes[k]) / static_cast<double>(rows.rows());
    for (std::size_t j = 0; j < columns; ++j) centre[j] += share * (means[k * columns + j] - rows(0, j));
  }
  for (std::size_t j = 0; j < columns; ++j) centre[j] += rows(0, j);
  double between = 0;
  double within = 0;
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    between += static_cast<double>(cut.sizes[k]) * squared_distance(&means[k * columns], centre.data(), columns);
  }
  for (std::size_t i = 0; i < rows.rows(); ++i)
    within += squared_distance(rows.row(i), &means[cut.group_of[i] * columns], columns);
  const auto groups_less_one = static_cast<double>(cut.sizes.size() - 1);
  return within == 0 ? 1 : between * static_cast<double>(rows.rows() - cut.sizes.size()) / (within * groups_less_one);
}

std::size_t centroid_index(matrix_view<const double> first, matrix_view<const double> second) {
  if (first.columns() != second.columns()) {
    throw bad_argument(
        fmt::format("centroids of {} and {} columns cannot be compared", first.columns(), second.columns()));
  }
  const auto orphans = [](matrix_view<const double> from, matrix_view<const double> to) {
    std::vector<bool> met(to.rows(), false);
    for (std::size_t k = 0; k < from.rows() && to.rows() > 0; ++k) {
      std::size_t nearest = 0;
      double least = infinity;
      for (std::size_t l = 0; l < to.rows(); ++l) {
        const double distance = squared_distance(from.row(k), to.row(l), from.columns());
        if (distance < least) {
          least = distance;
          nearest = l;
        }
      }
      met[nearest] = true;
    }
    return static_cast<std::size_t>(std::count(met.begin(), met.end(), false));
  };
  return std::max(orphans(first, second), orphans(second, first));
}

}  // namespace shoal::metrics
