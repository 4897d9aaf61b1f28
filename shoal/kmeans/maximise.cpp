#include <shoal/kmeans/maximise.hpp>

#include <algorithm>

#include <shoal/estimation/seed_draw.hpp>

namespace shoal::kmeans {

template <class Scalar>
moved_centroids move_centroids(const std::vector<double>& centroids, const statistics& folded,
                               const row_source<Scalar>& rows, const find_farthest& farthest) {
  const std::size_t clusters = folded.weights.size(), columns = rows.columns();
  const double* present = centroids.data();
  statistics moved = folded;
  moved_centroids result;
  std::vector<double>& next = result.centroids;
  next = centroids;
  std::vector<std::size_t> empty;
  for (std::size_t k = 0; k < clusters; ++k) {
    if (!(moved.weights[k] > 0)) empty.push_back(k);
  }
  if (!empty.empty()) {
    for (const far_row& far : farthest(empty.size())) {
      // A row that is all of its cluster would only swap one empty cluster for another.
      if (!(moved.weights[far.label] > far.weight)) continue;
      std::vector<double> row;
      append_row(rows, far.row, row);
      for (std::size_t j = 0; j < columns; ++j) {
        moved.sums[far.label * columns + j] -= far.weight * (row[j] - present[far.label * columns + j]);
      }
      moved.weights[far.label] -= far.weight;
      std::copy(row.begin(), row.end(), next.begin() + static_cast<std::ptrdiff_t>(empty[result.relocated] * columns));
      ++result.relocated;
    }
  }
  for (std::size_t k = 0; k < clusters; ++k) {
    if (!(folded.weights[k] > 0)) continue;
    for (std::size_t j = 0; j < columns; ++j) next[k * columns + j] += moved.sums[k * columns + j] / moved.weights[k];
  }
  for (std::size_t i = 0; i < next.size(); ++i) result.change += (next[i] - present[i]) * (next[i] - present[i]);
  return result;
}

template moved_centroids move_centroids(const std::vector<double>&, const statistics&, const row_source<float>&,
                                        const find_farthest&);
template moved_centroids move_centroids(const std::vector<double>&, const statistics&, const row_source<double>&,
                                        const find_farthest&);

}  // namespace shoal::kmeans
