// The kernels whose warps make the operands of their products in registers, for 13 to 16 columns: full covariances.
#include <shoal/gmm/cuda/few_columns/wider_warps.cuh>

namespace shoal::gmm::few_columns {

const void* find_kernel_of_sixteen(std::size_t columns, unsigned tiles, unsigned terms) {
  return terms == 2 ? find_wider_kernel<13, 16, 2>(columns, tiles) : find_wider_kernel<13, 16, 1>(columns, tiles);
}

}  // namespace shoal::gmm::few_columns
