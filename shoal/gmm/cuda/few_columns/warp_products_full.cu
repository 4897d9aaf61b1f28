// The kernels whose warps make the operands of their products in registers: full covariances.
#include <shoal/gmm/cuda/few_columns/warp_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_warp_product_kernel(std::size_t columns, std::size_t components, unsigned terms) {
  if (columns < least_warp_product_columns || columns > most_warp_product_columns || components < 1 ||
      components > most_warp_product_components(columns)) {
    return nullptr;
  }
  const unsigned tiles = warp_product_tiles(static_cast<unsigned>(components));
  if (columns > 12) return find_kernel_of_sixteen(columns, tiles, terms);
  if (columns > narrow_warp_columns) return find_kernel_of_twelve(columns, tiles, terms);
  return terms == 2 ? find_narrow_kernel_of<2>(columns, tiles) : find_narrow_kernel_of_one_term(columns, tiles);
}

std::size_t warp_product_shared_bytes(const warp_sizes& sizes, std::size_t components, std::size_t statistics) {
  return warp_places(sizes, static_cast<unsigned>(components), static_cast<unsigned>(statistics)).bytes;
}

}  // namespace shoal::gmm::few_columns
