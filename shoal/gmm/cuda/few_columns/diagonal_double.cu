// The kernels for few columns: double, diag and spherical covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm::few_columns {

template <>
compiled_kernel find_diagonal_kernel<double>(std::size_t columns) {
  return find_kernel_of<double, false>(columns);
}

}  // namespace shoal::gmm::few_columns
