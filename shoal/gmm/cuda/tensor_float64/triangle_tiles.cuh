// The tiles of a symmetric matrix that are summed: those of its upper triangle.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace shoal::gmm::tensor_float64 {

/// Which tile of the upper triangle a block sums; tiles are numbered row by row.
struct tile_place {
  unsigned down = 0, across = 0;
  __device__ tile_place(unsigned index, unsigned tiles) {
    while (index >= tiles - down) index -= tiles - down++;
    across = down + index;
  }
};

inline std::size_t triangle_tiles(std::size_t columns, std::size_t tile) {
  const std::size_t tiles = (columns + tile - 1) / tile;
  return tiles * (tiles + 1) / 2;
}

}  // namespace shoal::gmm::tensor_float64
