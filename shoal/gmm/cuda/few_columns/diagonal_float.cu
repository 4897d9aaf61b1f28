// The kernels for few columns: float, diag and spherical covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm {

template <>
small_kernel find_small_diagonal_kernel<float>(std::size_t columns) {
  return find_small_kernel<float, false>(columns);
}

}  // namespace shoal::gmm
