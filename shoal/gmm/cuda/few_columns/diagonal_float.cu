// The kernels for few columns: float, diag and spherical covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm::few_columns {

template <>
compiled_kernel find_diagonal_kernel<float>(std::size_t columns) {
  return find_kernel_of<float, false>(columns);
}

}  // namespace shoal::gmm::few_columns
