// The kernel of greedy k-means++ among rows that all multiprocessors share, a block for each.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/estimation/cuda/few_rows_kernels.hpp>

namespace shoal {

/// How the blocks of a launch share the rows: those of a block follow each other.
struct spread_rows_cut {
  unsigned blocks = 0;     ///< none: the rows cannot be shared so
  unsigned row_warps = 0;  ///< of each block: 32 rows each
  bool held = false;       ///< whether threads keep their rows, one each
};

/// On the current device, which has so many multiprocessors.
template <class Scalar, class Work>
spread_rows_cut cut_among_blocks(const few_rows<Scalar, Work>& rows, std::size_t multiprocessors,
                                 std::size_t most_shared_bytes);

/// Words of memory by which blocks tell each other sums, of those of few_rows::said_groups.
inline std::size_t spread_sum_words(const spread_rows_cut& cut, std::size_t clusters, std::size_t trials) {
  return clusters * trials * cut.blocks;
}

/// Chooses all of them; as choose_at_once(), but for sums that round in another order. What is said are `said_groups`,
/// [clusters][trials][blocks], and `said_rows`, [clusters][trials][1 + columns].
template <class Scalar, class Work>
void choose_among_blocks(const few_rows<Scalar, Work>& rows, const spread_rows_cut& cut, cudaStream_t stream);

}  // namespace shoal
