#include <shoal/kmeans/move_centroids.hpp>

#include <algorithm>

#include <shoal/estimation/seed_draw.hpp>
#include <shoal/kmeans/relocate.hpp>

namespace shoal::kmeans {

template <class Scalar>
moved_centroids move_centroids(const fold_context& context, const weighted_rows<Scalar>& data,
                               const prepared_centroids<Scalar>& centroids, const statistics& folded) {
  const std::size_t clusters = centroids.clusters(), columns = centroids.columns();
  const double* present = centroids.values();
  statistics moved = folded;
  moved_centroids result;
  std::vector<double>& next = result.centroids;
  next.assign(present, present + clusters * columns);
  std::vector<std::size_t> empty;
  for (std::size_t k = 0; k < clusters; ++k) {
    if (!(moved.weights[k] > 0)) empty.push_back(k);
  }
  if (!empty.empty()) {
    for (const far_row& far : farthest_rows(context, data, centroids, empty.size())) {
      // A row that is all of its cluster would only swap one empty cluster for another.
      if (!(moved.weights[far.label] > far.weight)) continue;
      std::vector<double> row;
      append_row(*data.rows, far.row, row);
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

template moved_centroids move_centroids(const fold_context&, const weighted_rows<float>&,
                                        const prepared_centroids<float>&, const statistics&);
template moved_centroids move_centroids(const fold_context&, const weighted_rows<double>&,
                                        const prepared_centroids<double>&, const statistics&);

}  // namespace shoal::kmeans
