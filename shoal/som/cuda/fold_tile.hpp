// How a GPU's blocks divide rows that are folded in one pass.
#pragma once

#include <algorithm>
#include <cstddef>

namespace shoal::som {

inline constexpr int fold_threads = 256;              // of a block
inline constexpr std::size_t fold_blocks = 2;         // of a multiprocessor at a time
inline constexpr std::size_t fold_kept_bytes = 2048;  // of shared memory for each block's own and the system's
inline constexpr double least_folded_weight = 4096;   // so that no term of a sum reaches 2⁵¹ in its unit (run_sums)
inline constexpr int fold_tile_step = 32;             // rows of a tile are a multiple of it

/// Shared memory of a block.
constexpr std::size_t fold_bytes(std::size_t of_multiprocessor) {
  return of_multiprocessor / fold_blocks - fold_kept_bytes;
}

/// Rows of a tile, `least` to `most`: all blocks end together, after as few tiles as can be.
constexpr int even_tile_rows(std::size_t rows, std::size_t multiprocessors, int least, int most) {
  const std::size_t blocks = fold_blocks * multiprocessors, of_blocks = blocks * static_cast<std::size_t>(most);
  const std::size_t turns = (rows + of_blocks - 1) / of_blocks;
  const std::size_t each = (rows + blocks * turns - 1) / (blocks * turns);
  constexpr std::size_t step = fold_tile_step;
  return std::clamp(static_cast<int>((each + step - 1) / step * step), least, most);
}

}  // namespace shoal::som
