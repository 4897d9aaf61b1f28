// Rows in the memory of one GPU, as kernels see them.
#pragma once

#include <cstddef>

namespace shoal::cuda {

/// Most bytes of a streamed piece: a copy of so much keeps the bus busy for a millisecond, long beside what starting it
/// costs.
inline constexpr std::size_t most_piece_bytes = std::size_t{64} << 20;

/// Rows of a piece begin at a multiple of so many bytes.
inline constexpr std::size_t row_alignment = 16;

/// Consecutive rows in the memory of one GPU. Everything is contiguous: row i starts at rows + i · columns.
template <class Scalar>
struct device_piece {
  const Scalar* rows = nullptr;
  const Scalar* weights = nullptr;  ///< [count], scaled; null: all one
  std::size_t first = 0;            ///< index of the first row in the whole data
  /// The same among the rows that are summed together, a GPU's share or one shard of it; a multiple of piece_unit.
  std::size_t share_first = 0;
  std::size_t count = 0;
};

/// Rows of a shard, by their place in it.
struct shard_range {
  std::size_t first = 0;
  std::size_t count = 0;
};

}  // namespace shoal::cuda
