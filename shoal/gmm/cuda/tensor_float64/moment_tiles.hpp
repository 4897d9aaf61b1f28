// Which tiles of components and columns moments in a frame are summed in.
#pragma once

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>

namespace shoal::gmm::tensor_float64 {

// Components and columns of each.
using tile_32_32 = moment_tile<2, 1, 1, 2, 32>;
using tile_32_64 = moment_tile<2, 1, 2, 2, 32>;
using tile_32_128 = moment_tile<2, 1, 4, 2, 32>;
using tile_64_32 = moment_tile<4, 1, 2, 3, 32>;
using tile_64_64 = moment_tile<4, 1, 4, 2, 32>;

template <class Use>
auto with_moment_tile(const kernel_layout& layout, const Use& use) {
  if (layout.components > 32) return layout.columns <= 32 ? use(tile_64_32()) : use(tile_64_64());
  if (layout.columns <= 32) return use(tile_32_32());
  return layout.columns <= 64 ? use(tile_32_64()) : use(tile_32_128());
}

}  // namespace shoal::gmm::tensor_float64
