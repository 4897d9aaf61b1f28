// The kernels that multiply few columns on tensor cores: spherical covariances.
#include <shoal/gmm/cuda/few_columns/product_kernel.cuh>

namespace shoal::gmm::few_columns {

product_kernel find_spherical_product_kernel(std::size_t columns, unsigned warp_tiles) {
  return columns <= 8 ? find_product_kernel_of<covariance_type::spherical, 8>(warp_tiles)
                      : find_product_kernel_of<covariance_type::spherical, 16>(warp_tiles);
}

}  // namespace shoal::gmm::few_columns
