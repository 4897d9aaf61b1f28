#include <shoal/kmeans/host_distances.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace shoal::kmeans {
namespace {

template <class Scalar>
struct distances_body {
  using scratch = std::vector<double>;

  const double* by_column = nullptr;  // [columns][clusters], so that one row meets many centroids at once
  std::size_t clusters = 0;
  Scalar* out = nullptr;

  void operator()(const row_block<Scalar>& block, const team_member& member, scratch& sums, nothing&) const {
    if (member.rank() != 0) return;
    sums.resize(clusters);
    for (std::size_t i = 0; i < block.rows.rows(); ++i) {
      const Scalar* const row = block.rows.row(i);
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t j = 0; j < block.rows.columns(); ++j) {
        const double value = row[j];
        const double* const centroids = by_column + j * clusters;
        for (std::size_t k = 0; k < clusters; ++k) {
          const double difference = value - centroids[k];
          sums[k] += difference * difference;
        }
      }
      Scalar* const written = out + (block.first + i) * clusters;
      for (std::size_t k = 0; k < clusters; ++k) written[k] = static_cast<Scalar>(std::sqrt(sums[k]));
    }
  }
};

}  // namespace

template <class Scalar>
void distances_on_host(const fold_context& context, const row_source<Scalar>& rows, const model& model,
                       Scalar* distances) {
  std::vector<double> by_column(model.centroids.size());
  for (std::size_t k = 0; k < model.clusters; ++k) {
    for (std::size_t j = 0; j < model.columns; ++j) {
      by_column[j * model.clusters + k] = model.centroids[k * model.columns + j];
    }
  }
  fold<Scalar>(context, weighted_rows<Scalar>{&rows}, nothing_monoid{},
               distances_body<Scalar>{by_column.data(), model.clusters, distances});
}
template void distances_on_host(const fold_context&, const row_source<float>&, const model&, float*);
template void distances_on_host(const fold_context&, const row_source<double>&, const model&, double*);

}  // namespace shoal::kmeans
