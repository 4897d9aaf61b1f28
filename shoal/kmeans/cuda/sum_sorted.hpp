// Sums by label of many clusters and columns, after the rows were sorted by label.
#pragma once

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {

/// What rows of a piece are sorted with.
struct sort_buffers {
  unsigned* counts = nullptr;  ///< [tiles][clusters] rows of a label; then the place of the first among its lane's
  unsigned* starts = nullptr;  ///< [lanes][clusters + 1] the first place of a label
  unsigned* order = nullptr;   ///< [rows] of the piece, lane by lane and label by label, in their order
  double* weights = nullptr;   ///< [lanes][clusters]
};

class sort_memory {
 public:
  void grow(const sum_plan& plan, std::size_t clusters, std::size_t piece_rows);
  const sort_buffers& buffers() const { return buffers_; }

 private:
  sort_buffers buffers_;
  cuda::device_buffer<unsigned> counts_, starts_, order_;
  cuda::device_buffer<double> weights_;
};

/// Doubles of a complete lane: sums, weights, inertia. Those of a lane that goes on in the next piece follow.
SHOAL_HD constexpr std::size_t sorted_reduced(std::size_t clusters, std::size_t columns) {
  return clusters * (columns + 1) + 1;
}

/// Shared memory of a block that counts labels, and of a warp that sorts by them.
constexpr std::size_t sort_shared_bytes(std::size_t clusters) { return clusters * sizeof(unsigned); }

/// Whether sums of so many clusters and columns are made so (tuning.hpp), by blocks of so much shared memory at most.
bool is_summed_sorted(std::size_t clusters, std::size_t columns, std::size_t shared_bytes);
sum_plan make_sorted_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns,
                          std::size_t multiprocessors);

/// As sum_by_label().
template <class Scalar>
void sum_sorted(const sum_plan& plan, const cuda::device_piece<Scalar>& piece,
                const device_centroids<Scalar>& centroids, const std::int32_t* labels, const sort_buffers& memory,
                double* lanes, unsigned long long* fingerprint, const int* stopped, cudaStream_t stream);

}  // namespace shoal::kmeans
