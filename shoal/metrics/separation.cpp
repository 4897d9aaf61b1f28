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

constexpr std::size_t piece_rows = 4096;

struct piece {
  std::size_t first = 0;
  matrix_view<const double> rows;
  std::span<const std::int32_t> labels;
};

template <class Take>
void for_each_piece(const labelled_rows& data, const Take& take) {
  aligned_buffer<double> buffer;
  std::vector<std::int32_t> labels;
  for (std::size_t first = 0; first < data.rows->rows(); first += piece_rows) {
    labels.resize(std::min(piece_rows, data.rows->rows() - first));
    data.read_labels(first, labels);
    take(piece{first, data.rows->read(first, labels.size(), buffer), labels});
  }
}

// The labels that there are, and the size of each group.
struct groups {
  explicit groups(const labelled_rows& data) {
    std::vector<std::int32_t> own;
    for (std::size_t first = 0; first < data.rows->rows(); first += piece_rows) {
      own.resize(std::min(piece_rows, data.rows->rows() - first));
      data.read_labels(first, own);
      for (const std::int32_t label : own) {
        const auto place = std::lower_bound(labels.begin(), labels.end(), label);
        const auto at = place - labels.begin();
        if (place == labels.end() || *place != label) {
          labels.insert(place, label);
          sizes.insert(sizes.begin() + at, 0);
        }
        ++sizes[static_cast<std::size_t>(at)];
      }
    }
  }

  std::size_t of(std::int32_t label) const {
    return static_cast<std::size_t>(std::lower_bound(labels.begin(), labels.end(), label) - labels.begin());
  }

  std::vector<std::int32_t> labels;  // ascending
  std::vector<std::size_t> sizes;
};

groups apart(const labelled_rows& data) {
  groups cut(data);
  if (cut.labels.size() < 2 || cut.labels.size() >= data.rows->rows()) {
    throw bad_argument(
        fmt::format("{} groups of {} rows cannot be kept apart; there must be at least 2, and fewer than rows",
                    cut.labels.size(), data.rows->rows()));
  }
  return cut;
}

// [K][d] means of the groups; sums are of differences to the first row, which keeps far data exact.
struct located_groups {
  std::vector<double> first_row;
  std::vector<double> means;
};

located_groups locate(const labelled_rows& data, const groups& cut) {
  const std::size_t columns = data.rows->columns();
  located_groups out{{}, std::vector<double>(cut.sizes.size() * columns, 0.0)};
  for_each_piece(data, [&](const piece& some) {
    if (some.first == 0) out.first_row.assign(some.rows.row(0), some.rows.row(0) + columns);
    for (std::size_t i = 0; i < some.labels.size(); ++i) {
      double* const mean = &out.means[cut.of(some.labels[i]) * columns];
      for (std::size_t j = 0; j < columns; ++j) mean[j] += some.rows(i, j) - out.first_row[j];
    }
  });
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    for (std::size_t j = 0; j < columns; ++j) {
      double& mean = out.means[k * columns + j];
      mean = out.first_row[j] + mean / static_cast<double>(cut.sizes[k]);
    }
  }
  return out;
}

double width(double within, double other) {
  const double larger = std::max(within, other);
  return larger == 0 ? 0 : (other - within) / larger;
}

}  // namespace

double silhouette(const labelled_rows& data, std::size_t threads) {
  const groups cut = apart(data);
  const std::size_t groups = cut.sizes.size();
  const std::size_t columns = data.rows->columns();
  constexpr std::size_t at_once = 1024;
  constexpr std::size_t per_task = 16;
  const auto workers = make_threads(threads);
  std::vector<double> distances;  // [at_once][K] sums
  double sum = 0;
  for_each_piece(data, [&](const piece& own) {
    for (std::size_t begin = 0; begin < own.labels.size(); begin += at_once) {
      const std::size_t count = std::min(at_once, own.labels.size() - begin);
      distances.assign(count * groups, 0.0);
      for_each_piece(data, [&](const piece& others) {
        std::vector<std::size_t> group_of(others.labels.size());
        for (std::size_t i = 0; i < group_of.size(); ++i) group_of[i] = cut.of(others.labels[i]);
        workers->run((count + per_task - 1) / per_task, 1, [&](std::size_t task, const team_member&) {
          for (std::size_t i = task * per_task; i < std::min(count, (task + 1) * per_task); ++i) {
            double* const sums = &distances[i * groups];
            const double* const row = own.rows.row(begin + i);
            for (std::size_t other = 0; other < group_of.size(); ++other) {
              sums[group_of[other]] += std::sqrt(squared_distance(row, others.rows.row(other), columns));
            }
          }
        });
      });
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t group = cut.of(own.labels[begin + i]);
        if (cut.sizes[group] == 1) continue;
        double nearest = infinity;
        for (std::size_t k = 0; k < groups; ++k) {
          if (k != group) nearest = std::min(nearest, distances[i * groups + k] / static_cast<double>(cut.sizes[k]));
        }
        sum += width(distances[i * groups + group] / static_cast<double>(cut.sizes[group] - 1), nearest);
      }
    }
  });
  return sum / static_cast<double>(data.rows->rows());
}

double simplified_silhouette(const labelled_rows& data, matrix_view<const double> centroids) {
  const std::size_t rows = data.rows->rows();
  if (rows == 0 || centroids.rows() < 2 || centroids.columns() != data.rows->columns()) {
    throw bad_argument(fmt::format(
        "{} rows of {} columns and {} centroids of {} columns do not fit; give rows and at least 2 centroids", rows,
        data.rows->columns(), centroids.rows(), centroids.columns()));
  }
  double sum = 0;
  for_each_piece(data, [&](const piece& some) {
    for (std::size_t i = 0; i < some.labels.size(); ++i) {
      const std::int32_t label = some.labels[i];
      if (label < 0 || static_cast<std::size_t>(label) >= centroids.rows()) {
        throw bad_argument(fmt::format("row {} has label {}, which is no centroid's number", some.first + i, label));
      }
      double own = 0;
      double nearest = infinity;
      for (std::size_t k = 0; k < centroids.rows(); ++k) {
        const double distance = std::sqrt(squared_distance(some.rows.row(i), centroids.row(k), centroids.columns()));
        if (k == static_cast<std::size_t>(label)) {
          own = distance;
        } else {
          nearest = std::min(nearest, distance);
        }
      }
      sum += width(own, nearest);
    }
  });
  return sum / static_cast<double>(rows);
}

double davies_bouldin_index(const labelled_rows& data) {
  const groups cut = apart(data);
  const std::size_t columns = data.rows->columns();
  const std::vector<double> means = locate(data, cut).means;
  std::vector<double> spread(cut.sizes.size(), 0.0);
  for_each_piece(data, [&](const piece& some) {
    for (std::size_t i = 0; i < some.labels.size(); ++i) {
      const std::size_t group = cut.of(some.labels[i]);
      spread[group] += std::sqrt(squared_distance(some.rows.row(i), &means[group * columns], columns));
    }
  });
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

double calinski_harabasz_index(const labelled_rows& data) {
  const groups cut = apart(data);
  const std::size_t rows = data.rows->rows();
  const std::size_t columns = data.rows->columns();
  const auto [first_row, means] = locate(data, cut);
  std::vector<double> centre(columns, 0.0);
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    const double share = static_cast<double>(cut.sizes[k]) / static_cast<double>(rows);
    for (std::size_t j = 0; j < columns; ++j) centre[j] += share * (means[k * columns + j] - first_row[j]);
  }
  for (std::size_t j = 0; j < columns; ++j) centre[j] += first_row[j];
  double between = 0;
  double within = 0;
  for (std::size_t k = 0; k < cut.sizes.size(); ++k) {
    between += static_cast<double>(cut.sizes[k]) * squared_distance(&means[k * columns], centre.data(), columns);
  }
  for_each_piece(data, [&, &group_means = means](const piece& some) {
    for (std::size_t i = 0; i < some.labels.size(); ++i) {
      within += squared_distance(some.rows.row(i), &group_means[cut.of(some.labels[i]) * columns], columns);
    }
  });
  const auto groups_less_one = static_cast<double>(cut.sizes.size() - 1);
  return within == 0 ? 1 : between * static_cast<double>(rows - cut.sizes.size()) / (within * groups_less_one);
}

group_means means_of_groups(const labelled_rows& data) {
  const groups cut(data);
  return {cut.labels, locate(data, cut).means};
}

namespace {

// Rows and labels in memory.
struct in_memory {
  in_memory(matrix_view<const double> matrix, std::span<const std::int32_t> labels) : source(matrix) {
    if (labels.size() != matrix.rows()) {
      throw bad_argument(
          fmt::format("{} labels were given for {} rows; give one for each row", labels.size(), matrix.rows()));
    }
    data = {&source, [labels](std::size_t first, std::span<std::int32_t> out) {
              std::copy_n(labels.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
            }};
  }

  view_source<double> source;
  labelled_rows data;
};

}  // namespace

double silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels, std::size_t threads) {
  return silhouette(in_memory(rows, labels).data, threads);
}

double simplified_silhouette(matrix_view<const double> rows, std::span<const std::int32_t> labels,
                             matrix_view<const double> centroids) {
  return simplified_silhouette(in_memory(rows, labels).data, centroids);
}

double davies_bouldin_index(matrix_view<const double> rows, std::span<const std::int32_t> labels) {
  return davies_bouldin_index(in_memory(rows, labels).data);
}

double calinski_harabasz_index(matrix_view<const double> rows, std::span<const std::int32_t> labels) {
  return calinski_harabasz_index(in_memory(rows, labels).data);
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
