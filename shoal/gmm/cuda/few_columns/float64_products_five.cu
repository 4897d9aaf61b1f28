// The kernels for float64 products: full and tied covariances of 4 and 5 columns.
#include <shoal/gmm/cuda/few_columns/float64_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_float64_kernel_of_five(std::size_t columns, unsigned tiles) {
  return columns == 4 ? find_float64_kernel_of_tiles<covariance_type::full, 4>(tiles)
                      : find_float64_kernel_of_tiles<covariance_type::full, 5>(tiles);
}

}  // namespace shoal::gmm::few_columns
