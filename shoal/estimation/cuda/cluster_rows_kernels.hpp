// The kernel of greedy k-means++ among rows that clusters of blocks keep in their shared memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/estimation/cuda/few_rows_kernels.hpp>

namespace shoal {

/// How distances to trials are found.
enum class cluster_measure {
  columns,  ///< from rows in shared memory, column by column
  bytes,    ///< by few_rows::coarse first, which rules most out
  pairs,    ///< they are known: few_rows::pairs
};

/// How clusters of a launch share the rows.
struct cluster_rows_cut {
  unsigned clusters = 0;    ///< none: they cannot be at work at once
  unsigned block_rows = 0;  ///< of each block, a multiple of 32
  unsigned threads = 0;     ///< of each block
  cluster_measure how = cluster_measure::columns;
  bool whole_rows = false;  ///< by bytes: whether the rows themselves are in shared memory, too
};

/// What there can be besides the rows.
struct cluster_measures {
  bool bytes;  ///< few_rows::coarse, whose pitch is there already
  bool pairs;  ///< few_rows::pairs
};

/// On the current device.
template <class Scalar, class Work>
cluster_rows_cut cut_into_clusters(const few_rows<Scalar, Work>& rows, const cluster_measures& can_be,
                                   std::size_t most_shared_bytes);

/// Words of memory by which clusters tell each other sums, of those of few_rows::said_groups; none for one cluster.
std::size_t cluster_sum_words(const cluster_rows_cut& cut, std::size_t clusters, std::size_t trials);

/// Chooses all of them; as choose_at_once(), but for sums that round in another order. What is said are `said_groups`,
/// [clusters][16][trials][8], and `said_rows`; of one cluster nothing.
template <class Scalar, class Work>
void choose_in_clusters(const few_rows<Scalar, Work>& rows, const cluster_rows_cut& cut, cudaStream_t stream);

}  // namespace shoal
