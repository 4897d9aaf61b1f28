// The kernels for few columns whose densities are found once: spherical covariances.
#include <shoal/gmm/cuda/few_columns/term_held_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_spherical_held_kernel(std::size_t columns, unsigned warp_tiles) {
  return find_held_kernel_of<covariance_type::spherical>(columns, warp_tiles);
}

}  // namespace shoal::gmm::few_columns
