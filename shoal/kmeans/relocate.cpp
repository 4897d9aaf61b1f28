#include <shoal/kmeans/relocate.hpp>

#include <algorithm>

namespace shoal::kmeans {
namespace {

bool farther(const far_row& a, const far_row& b) {
  return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
}

// The `count` farthest rows, as a heap with the nearest of them on top.
struct farthest_monoid {
  using value_type = std::vector<far_row>;
  std::size_t count;

  value_type identity() const { return {}; }
  void reset(value_type& value) const { value.clear(); }
  void consider(value_type& value, const far_row& row) const {
    if (value.size() == count) {
      if (!farther(row, value.front())) return;
      std::pop_heap(value.begin(), value.end(), farther);
      value.back() = row;
    } else {
      value.push_back(row);
    }
    std::push_heap(value.begin(), value.end(), farther);
  }
  void combine_into(value_type& into, const value_type& from) const {
    for (const far_row& row : from) consider(into, row);
  }
  std::size_t bytes() const { return count * sizeof(far_row); }
};

template <class Scalar>
struct farthest_body {
  struct scratch {
    aligned_buffer<std::int32_t> labels;
    nearest_scratch<Scalar> nearest;
  };
  const prepared_centroids<Scalar>* centroids;
  farthest_monoid monoid;

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
      if (distance > 0) monoid.consider(into, {distance, piece.first + i, label, weight});
    }
  }
};

}  // namespace

template <class Scalar>
std::vector<far_row> farthest_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const prepared_centroids<Scalar>& centroids, std::size_t count) {
  const farthest_monoid monoid{count};
  std::vector<far_row> rows = fold<Scalar>(context, data, monoid, farthest_body<Scalar>{&centroids, monoid});
  std::sort(rows.begin(), rows.end(), farther);
  return rows;
}

template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<float>&,
                                            const prepared_centroids<float>&, std::size_t);
template std::vector<far_row> farthest_rows(const fold_context&, const weighted_rows<double>&,
                                            const prepared_centroids<double>&, std::size_t);

}  // namespace shoal::kmeans
