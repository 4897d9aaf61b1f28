// Which of the kernels for 9 to 16 columns takes a shape.
#pragma once

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/warp_products.hpp>
#include <shoal/gmm/cuda/few_columns/wider_warp_kernel.cuh>

namespace shoal::gmm::few_columns {

/// Of those for Columns to Most columns and as many tiles as Tiles, or more.
template <int Columns, int Most, int Terms, int Tiles = 1>
const void* find_wider_kernel(std::size_t columns, unsigned tiles) {
  if constexpr (Columns < Most) {
    if (columns > Columns) return find_wider_kernel<Columns + 1, Most, Terms>(columns, tiles);
  }
  if constexpr (Tiles < warp_product_tiles(most_warp_product_components(Columns))) {
    if (tiles > Tiles) return find_wider_kernel<Columns, Columns, Terms, Tiles + 1>(columns, tiles);
  }
  return reinterpret_cast<const void*>(&accumulate_by_wider_warps<warp_shape<Columns, Tiles, Terms>>);
}

}  // namespace shoal::gmm::few_columns
