// The kernels for few columns whose warps have densities under all components: spherical covariances.
#include <shoal/gmm/cuda/few_columns/term_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_spherical_whole_kernel(unsigned tiles) {
  return find_whole_kernel_of<covariance_type::spherical>(tiles);
}

}  // namespace shoal::gmm::few_columns
