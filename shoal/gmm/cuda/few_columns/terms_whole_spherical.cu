// The kernels for few columns whose warps have densities under all components: spherical covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_spherical_whole_kernel(std::size_t columns, unsigned tiles, bool fine) {
  return columns <= 8 ? find_whole_kernel_of<covariance_type::spherical, 8>(tiles, fine)
                      : find_whole_kernel_of<covariance_type::spherical, 16>(tiles, fine);
}

}  // namespace shoal::gmm::few_columns
