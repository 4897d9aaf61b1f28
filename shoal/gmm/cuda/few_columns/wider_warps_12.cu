// The kernels whose warps make the operands of their products in registers, for 9 to 12 columns: full covariances.
#include <shoal/gmm/cuda/few_columns/wider_warps.cuh>

namespace shoal::gmm::few_columns {

const void* find_kernel_of_twelve(std::size_t columns, unsigned tiles, unsigned terms) {
  return terms == 2 ? find_wider_kernel<9, 12, 2>(columns, tiles) : find_wider_kernel<9, 12, 1>(columns, tiles);
}

}  // namespace shoal::gmm::few_columns
