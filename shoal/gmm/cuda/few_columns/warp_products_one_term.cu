// The kernels whose warps make the operands of their products in registers, for 5 to 8 columns where eleven bits of
// each factor will do: full covariances.
#include <shoal/gmm/cuda/few_columns/warp_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_narrow_kernel_of_one_term(std::size_t columns, unsigned tiles) {
  return find_narrow_kernel_of<1>(columns, tiles);
}

}  // namespace shoal::gmm::few_columns
