// Rows into statistics: assigns each row to its nearest centroid and adds it up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/estimation/nearest.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/kmeans/statistics.hpp>

namespace shoal::kmeans {

/// Centroids as the kernels want them. Set once an iteration, read by every thread.
template <class Scalar>
class prepared_centroids {
 public:
  void set(std::span<const double> centroids, std::size_t clusters, std::size_t columns);

  std::size_t clusters() const { return index_.clusters(); }
  std::size_t columns() const { return index_.columns(); }
  const double* values() const { return values_.data(); }  ///< [clusters][columns]
  const centroid_index<Scalar>& index() const { return index_; }

  /// True when rows are assigned and summed in one pass (few clusters and columns, see tuning.hpp).
  bool fused() const { return fused_; }
  const Scalar* rounded() const { return rounded_.data(); }  ///< [most fused clusters][columns], infinite beyond K
  Scalar largest_norm() const { return largest_norm_; }      ///< largest ‖c‖, for the bound of the fused pass

 private:
  std::vector<double> values_;
  centroid_index<Scalar> index_;
  bool fused_ = false;
  std::vector<Scalar> rounded_;
  Scalar largest_norm_ = 0;
};
extern template class prepared_centroids<float>;
extern template class prepared_centroids<double>;

/// The body of the fold of Lloyd's algorithm (see folder).
template <class Scalar>
struct accumulate_body {
  struct scratch {
    aligned_buffer<std::int32_t> labels;
    aligned_buffer<double> distances;  ///< of each row to its centroid, squared
    aligned_buffer<Scalar> packed;     ///< rows without gaps between them, for the fused pass
    std::vector<nearest_scratch<Scalar>> members;
  };

  const prepared_centroids<Scalar>* centroids = nullptr;
  std::int32_t* labels = nullptr;  ///< [all rows] written when not null

  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory, statistics& into) const;
};
extern template struct accumulate_body<float>;
extern template struct accumulate_body<double>;

}  // namespace shoal::kmeans
