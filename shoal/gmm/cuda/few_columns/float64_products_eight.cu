// The kernels for float64 products: full and tied covariances of 8 columns, and the choice among all.
#include <shoal/gmm/cuda/few_columns/float64_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_float64_kernel_of_eight(unsigned tiles) {
  return find_float64_kernel_of_tiles<covariance_type::full, 8>(tiles);
}

const void* find_full_float64_kernel(std::size_t columns, unsigned tiles) {
  if (columns <= 3) return find_float64_kernel_of_three(columns, tiles);
  if (columns <= 5) return find_float64_kernel_of_five(columns, tiles);
  switch (columns) {
    case 6:
      return find_float64_kernel_of_six(tiles);
    case 7:
      return find_float64_kernel_of_seven(tiles);
    case 8:
      return find_float64_kernel_of_eight(tiles);
    default:
      return nullptr;
  }
}

}  // namespace shoal::gmm::few_columns
