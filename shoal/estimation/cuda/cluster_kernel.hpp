// What the kernels of cluster_rows.cuh and their launch agree on.
#pragma once

#include <cstddef>

#include <shoal/estimation/cuda/cluster_rows_kernels.hpp>

namespace shoal {

inline constexpr unsigned cluster_blocks = 16;
inline constexpr unsigned most_clusters = 7;  // that a GPU of 132 multiprocessors runs at once
inline constexpr unsigned most_cluster_trials = 8;
inline constexpr unsigned most_cluster_threads = 1024, least_cluster_threads = 512;  // a warp for each draw at least
inline constexpr unsigned most_cluster_rows = 1024;  // of a block: a lane for each 32 of them
inline constexpr unsigned trials_together = 4;       // that a warp measures at a time, or adds up the masses of
inline constexpr unsigned rank_words = 8;            // by which blocks of a rank tell each other a sum, one for each
static_assert(most_clusters <= rank_words && most_cluster_trials * 32 <= least_cluster_threads);

template <class Scalar, class Work>
struct cluster_kernel {
  void (*kernel)(few_rows<Scalar, Work>, cluster_rows_cut);
  std::size_t bytes;  ///< of shared memory that it needs
};

/// The kernel for so many trials and clusters; each way to measure is compiled in a file of its own.
template <cluster_measure How, class Scalar, class Work>
cluster_kernel<Scalar, Work> cluster_kernel_of(const few_rows<Scalar, Work>& of, const cluster_rows_cut& cut);

}  // namespace shoal
