// The kernels for few columns whose warps have densities under all components: diagonal covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_diagonal_whole_kernel(std::size_t columns, unsigned tiles, bool fine) {
  return columns <= 8 ? find_whole_kernel_of<covariance_type::diag, 8>(tiles, fine)
                      : find_whole_kernel_of<covariance_type::diag, 16>(tiles, fine);
}

}  // namespace shoal::gmm::few_columns
