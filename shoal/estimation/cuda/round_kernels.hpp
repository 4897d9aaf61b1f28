// The kernels of k-means‖'s rounds on one GPU that holds all rows: rounds follow each other without the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/estimation/cuda/coarse_rows.hpp>
#include <shoal/estimation/cuda/seeding_kernels.hpp>

namespace shoal {

/// Rows that one round keeps, in the device's memory.
struct kept_rows_of_round {
  unsigned long long* rows;   ///< [capacity] in any order
  unsigned long long* count;  ///< which may pass the capacity
  std::size_t capacity;
};

/// Points that all rounds have kept, in the device's memory.
template <class Work>
struct kept_points {
  Work* values;        ///< [points][columns]
  coarse_rows coarse;  ///< the same in bytes, as the rows have them; no values: not at all
};

/// seeding_passes::sample() with rate = expected / Σ mass, which is the sum of `sums` [units] in the order of
/// draw_groups.hpp; no rows where that is zero or not finite. The count is zero before.
template <class Scalar, class Work>
void sample_round(const cuda::device_piece<Scalar>& piece, const Work* least, const double* sums, std::size_t units,
                  double expected, std::uint64_t seed, std::uint64_t random_stream, const kept_rows_of_round& kept,
                  cudaStream_t stream);

/// Appends the rows kept, in order, to the points, whose last ones `before` names; they are then `*now`. `coarse`: the
/// rows in bytes, when the points have them.
template <class Scalar, class Work>
void append_round(const cuda::device_piece<Scalar>& piece, std::size_t columns, const coarse_rows& coarse,
                  const kept_rows_of_round& kept, const kept_points<Work>& points, const point_range* before,
                  point_range* now, cudaStream_t stream);

}  // namespace shoal
