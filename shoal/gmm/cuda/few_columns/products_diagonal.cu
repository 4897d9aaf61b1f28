// The kernels that multiply few columns on tensor cores: diagonal covariances.
#include <shoal/gmm/cuda/few_columns/product_kernel.cuh>

namespace shoal::gmm::few_columns {

product_kernel find_diagonal_product_kernel(std::size_t columns, unsigned warp_tiles) {
  return columns <= 8 ? find_product_kernel_of<covariance_type::diag, 8>(warp_tiles)
                      : find_product_kernel_of<covariance_type::diag, 16>(warp_tiles);
}

std::size_t product_shared_bytes(covariance_type type, std::size_t columns, unsigned tiles, unsigned share) {
  return product_places(type, product_columns(type, columns), tiles, share).bytes;
}

}  // namespace shoal::gmm::few_columns
