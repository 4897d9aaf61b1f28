// The kernels for float64 products: full and tied covariances of 7 columns.
#include <shoal/gmm/cuda/few_columns/float64_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_float64_kernel_of_seven(unsigned tiles) {
  return find_float64_kernel_of_tiles<covariance_type::full, 7>(tiles);
}

}  // namespace shoal::gmm::few_columns
