// The kernels for float64 products: diagonal and spherical covariances.
#include <shoal/gmm/cuda/few_columns/float64_product_kernel.cuh>

namespace shoal::gmm::few_columns {

const void* find_diagonal_float64_kernel(std::size_t columns, unsigned tiles) {
  if (columns > most_columns) return nullptr;
  switch (padded_float64_columns(covariance_type::diag, static_cast<unsigned>(columns))) {
    case 2:
      return find_float64_kernel_of_tiles<covariance_type::diag, 2>(tiles);
    case 4:
      return find_float64_kernel_of_tiles<covariance_type::diag, 4>(tiles);
    case 8:
      return find_float64_kernel_of_tiles<covariance_type::diag, 8>(tiles);
    case 12:
      return find_float64_kernel_of_tiles<covariance_type::diag, 12>(tiles);
    default:
      return find_float64_kernel_of_tiles<covariance_type::diag, 16>(tiles);
  }
}

}  // namespace shoal::gmm::few_columns
