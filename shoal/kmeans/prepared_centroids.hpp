// The centroids of one iteration as the kernels want them.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include <shoal/core/aligned_vector.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/nearest/centroid_index.hpp>

namespace shoal::kmeans {

/// Centroids as the kernels want them. Set once an iteration, read by every thread.
template <class Scalar>
class prepared_centroids {
 public:
  /// For so many `rows`, on `workers`, about this origin, for few comparisons or many (see centroid_index).
  void set(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
           std::size_t rows = std::numeric_limits<std::size_t>::max(), executor* workers = nullptr,
           std::span<const Scalar> origin = {}, bool few_compared = false);

  std::size_t clusters() const { return index_.clusters(); }
  std::size_t columns() const { return index_.columns(); }
  const double* values() const { return values_.data(); }  ///< [clusters][columns]
  const centroid_index<Scalar>& index() const { return index_; }

  const Scalar* rounded() const { return rounded_.data(); }  ///< [clusters][columns]
  double largest_norm() const { return largest_norm_; }      ///< largest ‖c‖

  /// True when rows are assigned and summed in one pass (few clusters and columns, see tuning.hpp).
  bool fused() const { return fused_; }
  double half_gap() const { return half_gap_; }  ///< when fused: half the least distance between two centroids

 private:
  aligned_vector<double> values_;
  aligned_vector<Scalar> rounded_;
  centroid_index<Scalar> index_;
  double largest_norm_ = 0;
  double half_gap_ = 0;
  bool fused_ = false;
};
extern template class prepared_centroids<float>;
extern template class prepared_centroids<double>;

}  // namespace shoal::kmeans
