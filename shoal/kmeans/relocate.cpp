#include <shoal/kmeans/relocate.hpp>

namespace shoal::kmeans {
namespace {

template <class Scalar>
struct farthest_body {
  struct scratch {
    aligned_buffer<std::int32_t> labels;
    nearest_scratch<Scalar> nearest;
  };
  const prepared_centroids<Scalar>* centroids;
  const farthest_rows_monoid* farthest;

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                  std::vector<far_row>& into) const {
    if (member.rank() != 0) return;
    const std::size_t columns = piece.rows.columns();
    memory.labels.grow(piece.rows.rows());
    find_nearest(centroids->index(), piece.rows, memory.labels.data(), memory.nearest);
    for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
      const double weight = piece.weights == nullptr ? 1.0 : static_cast<double>(piece.weights[i]);
      if (!(weight > 0)) continue;
      const auto label = static_cast<std::size_t>(memory.labels[i]);
      const double* centroid = centroids->values() + label * columns;
      double distance = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const double difference = static_cast<double>(piece.rows(i, j)) - centroid[j];
        distance += difference * difference;
      }
      if (distance > 0) farthest->insert(into, {distance, piece.first + i, label, weight});
    }
  }
};

}  // namespace

template <class Scalar>
std::vector<far_row> farthest_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const prepared_centroids<Scalar>& centroids, std::size_t count) {
  const farthest_rows_monoid farthest(count);
  return farthest.sorted(fold<Scalar>(context, data, farthest, farthest_body<Scalar>{&centroids, &farthest}));
}

template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<float>&,
                                            const prepared_centroids<float>&, std::size_t);
template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<double>&,
                                            const prepared_centroids<double>&, std::size_t);

}  // namespace shoal::kmeans
