// The kernels whose warps make the operands of their products in registers, for 9 to 16 columns: full covariances.
#include <shoal/gmm/cuda/few_columns/wider_warp_kernel.cuh>

namespace shoal::gmm::few_columns {
namespace {

template <int Columns, int Terms>
const void* find_for_columns(std::size_t columns, unsigned tiles) {
  if constexpr (Columns < static_cast<int>(most_warp_product_columns)) {
    if (columns > Columns) return find_for_columns<Columns + 1, Terms>(columns, tiles);
  }
  if (tiles == 1) return reinterpret_cast<const void*>(&accumulate_by_wider_warps<warp_shape<Columns, 1, Terms>>);
  return reinterpret_cast<const void*>(&accumulate_by_wider_warps<warp_shape<Columns, 2, Terms>>);
}

}  // namespace

const void* find_wider_warp_kernel(std::size_t columns, unsigned tiles, unsigned terms) {
  constexpr int least = static_cast<int>(narrow_warp_columns) + 1;
  return terms == 2 ? find_for_columns<least, 2>(columns, tiles) : find_for_columns<least, 1>(columns, tiles);
}

}  // namespace shoal::gmm::few_columns
