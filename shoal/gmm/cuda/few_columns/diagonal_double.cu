// The kernels for few columns: double, diag and spherical covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm {

template <>
small_kernel find_small_diagonal_kernel<double>(std::size_t columns) {
  return find_small_kernel<double, false>(columns);
}

}  // namespace shoal::gmm
