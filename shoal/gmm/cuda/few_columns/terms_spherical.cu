// The kernels that multiply few columns by any number of components on tensor cores: spherical covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_spherical_term_kernel(std::size_t columns, unsigned warp_tiles, bool fine) {
  return columns <= 8 ? find_term_kernel_of<covariance_type::spherical, 8>(warp_tiles, fine)
                      : find_term_kernel_of<covariance_type::spherical, 16>(warp_tiles, fine);
}

}  // namespace shoal::gmm::few_columns
