// The kernels whose warps make the operands of their products in registers: full covariances.
#include <shoal/gmm/cuda/few_columns/warp_product_kernel.cuh>

namespace shoal::gmm::few_columns {
namespace {

template <int Columns>
const void* find_for_columns(std::size_t columns, std::size_t components) {
  if constexpr (Columns < static_cast<int>(narrow_warp_columns)) {
    if (columns > Columns) return find_for_columns<Columns + 1>(columns, components);
  }
  switch (warp_product_tiles(static_cast<unsigned>(components))) {
    case 1:
      return reinterpret_cast<const void*>(&accumulate_by_warps<Columns, 1>);
    case 2:
      return reinterpret_cast<const void*>(&accumulate_by_warps<Columns, 2>);
    case 3:
      return reinterpret_cast<const void*>(&accumulate_by_warps<Columns, 3>);
    default:
      return reinterpret_cast<const void*>(&accumulate_by_warps<Columns, 4>);
  }
}

}  // namespace

const void* find_warp_product_kernel(std::size_t columns, std::size_t components, unsigned terms) {
  if (columns < least_warp_product_columns || columns > most_warp_product_columns || components < 1 ||
      components > most_warp_product_components(columns)) {
    return nullptr;
  }
  if (columns > narrow_warp_columns) {
    const unsigned tiles = warp_product_tiles(static_cast<unsigned>(components));
    return columns <= 12 ? find_kernel_of_twelve(columns, tiles, terms) : find_kernel_of_sixteen(columns, tiles, terms);
  }
  return find_for_columns<static_cast<int>(least_warp_product_columns)>(columns, components);
}

std::size_t warp_product_shared_bytes(const warp_sizes& sizes, std::size_t components, std::size_t statistics) {
  return warp_places(sizes, static_cast<unsigned>(components), static_cast<unsigned>(statistics)).bytes;
}

}  // namespace shoal::gmm::few_columns
