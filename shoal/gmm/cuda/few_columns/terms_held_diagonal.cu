// The kernels for few columns whose densities are found once: diagonal covariances.
#include <shoal/gmm/cuda/few_columns/term_held_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_diagonal_held_kernel(std::size_t columns, unsigned warp_tiles) {
  return find_held_kernel_of<covariance_type::diag>(columns, warp_tiles);
}

std::size_t held_shared_bytes(covariance_type type, std::size_t columns, unsigned warp_tiles) {
  return held_places(type, product_columns(type, columns), warp_tiles).bytes;
}

}  // namespace shoal::gmm::few_columns
