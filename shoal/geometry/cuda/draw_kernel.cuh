// The kernel of pictures, and its launch.
#pragma once

#include <cuda_runtime.h>

#include <shoal/geometry/shade.hpp>

namespace shoal::geometry::cuda {

// A warp draws a tile of 8 × 4 pixels, whose rays go through the same cells.
inline constexpr unsigned tile_width = 8;
inline constexpr unsigned tile_height = 16;

__global__ void __launch_bounds__(tile_width* tile_height)
    draw_kernel(const scene* __restrict__ of, std::uint8_t* __restrict__ pixels) {
  const unsigned across = blockIdx.x * tile_width + threadIdx.x, down = blockIdx.y * tile_height + threadIdx.y;
  if (across >= of->width || down >= of->height) return;
  draw_pixel(*of, across, down, pixels + std::size_t{3} * (std::size_t{down} * of->width + across));
}

inline void launch_draw(unsigned width, unsigned height, const scene* of, std::uint8_t* pixels, cudaStream_t stream) {
  const dim3 blocks((width + tile_width - 1) / tile_width, (height + tile_height - 1) / tile_height);
  draw_kernel<<<blocks, dim3(tile_width, tile_height), 0, stream>>>(of, pixels);
}

}  // namespace shoal::geometry::cuda
