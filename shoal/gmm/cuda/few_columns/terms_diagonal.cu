// The kernels that multiply few columns by any number of components on tensor cores: diagonal covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_diagonal_term_kernel(std::size_t columns, unsigned warp_tiles, bool fine) {
  return columns <= 8 ? find_term_kernel_of<covariance_type::diag, 8>(warp_tiles, fine)
                      : find_term_kernel_of<covariance_type::diag, 16>(warp_tiles, fine);
}

std::size_t term_shared_bytes(covariance_type type, std::size_t columns, unsigned warp_tiles) {
  return term_places(type, product_columns(type, columns), warp_tiles).bytes;
}

}  // namespace shoal::gmm::few_columns
