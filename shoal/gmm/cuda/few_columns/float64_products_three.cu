// The kernels for float64 products: full and tied covariances of 1 to 3 columns.
#include <shoal/gmm/cuda/few_columns/float64_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_float64_kernel_of_three(std::size_t columns, unsigned tiles) {
  switch (columns) {
    case 1:
      return find_float64_kernel_of_tiles<covariance_type::full, 1>(tiles);
    case 2:
      return find_float64_kernel_of_tiles<covariance_type::full, 2>(tiles);
    default:
      return find_float64_kernel_of_tiles<covariance_type::full, 3>(tiles);
  }
}

}  // namespace shoal::gmm::few_columns
