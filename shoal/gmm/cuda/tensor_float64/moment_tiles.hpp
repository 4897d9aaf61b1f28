// Which tiles of components and columns moments in a frame are summed in.
#pragma once

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>

namespace shoal::gmm::tensor_float64 {

// Components and columns of each.
using tile_16_16 = moment_tile<1, 1, 1, 2, 64, 4>;
using tile_16_32 = moment_tile<1, 1, 2, 2, 64, 4>;
using tile_16_48 = moment_tile<1, 1, 3, 2, 64, 4>;
using tile_16_64 = moment_tile<1, 1, 4, 2, 64, 4>;
using tile_16_96 = moment_tile<1, 1, 3, 1, 64, 2>;
using tile_16_128 = moment_tile<1, 1, 4, 1, 64, 2>;
using tile_32_32 = moment_tile<2, 1, 1, 2, 32>;
using tile_32_48 = moment_tile<2, 1, 3, 2, 32, 2>;
using tile_32_64 = moment_tile<2, 1, 2, 2, 32>;
using tile_32_96 = moment_tile<2, 1, 3, 2, 32>;
using tile_32_128 = moment_tile<2, 1, 4, 2, 32>;
using tile_48_32 = moment_tile<1, 3, 1, 2, 32, 2>;
using tile_48_64 = moment_tile<1, 3, 1, 2, 32>;
using tile_64_32 = moment_tile<4, 1, 2, 3, 32>;
using tile_64_64 = moment_tile<4, 1, 4, 2, 32>;

// Of float64 rows, whose products are most of the time, tiles that few components and columns fill: with tiles of 32
// and 64 components diag (10⁶, 33, 10) takes 0.548 ms and 0.345 with these, (10⁶, 17, 10) 0.382 and 0.242, (10⁶, 33,
// 33) 1.016 and 0.808, (10⁶, 33, 65) 2.27 and 1.74.
template <class Use>
auto with_filled_moment_tile(const kernel_layout& layout, const Use& use) {
  const unsigned columns = layout.columns, components = layout.components;
  if (components <= 16) {
    if (columns <= 16) return use(tile_16_16());
    if (columns <= 32) return use(tile_16_32());
    if (columns <= 48) return use(tile_16_48());
    if (columns <= 64) return use(tile_16_64());
    if (columns <= 96) return use(tile_16_96());
    // The wider one where it has no more columns that are not there.
    return (columns + 63) / 64 % 2 == 0 ? use(tile_16_128()) : use(tile_16_64());
  }
  if (components <= 32) {
    if (columns <= 32) return use(tile_32_32());
    if (columns <= 48) return use(tile_32_48());
    if (columns <= 64) return use(tile_32_64());
    return columns <= 96 ? use(tile_32_96()) : use(tile_32_128());
  }
  // First moments of tied mixtures alone are too little work for narrow tiles of many components: (10⁶, 17, 65)
  // takes 1.54 ms, and 1.58 with them.
  const bool tied = layout.type == covariance_type::tied;
  if (tied ? components <= 48 && columns <= 48 : components <= 48 || (components > 64 && components <= 96)) {
    return columns <= 32 ? use(tile_48_32()) : use(tile_48_64());
  }
  return columns <= 32 ? use(tile_64_32()) : use(tile_64_64());
}

template <class Scalar, class Use>
auto with_moment_tile(const kernel_layout& layout, const Use& use) {
  if constexpr (sizeof(Scalar) == 8) return with_filled_moment_tile(layout, use);
  if (layout.components > 32) return layout.columns <= 32 ? use(tile_64_32()) : use(tile_64_64());
  if (layout.columns <= 32) return use(tile_32_32());
  return layout.columns <= 64 ? use(tile_32_64()) : use(tile_32_128());
}

}  // namespace shoal::gmm::tensor_float64
