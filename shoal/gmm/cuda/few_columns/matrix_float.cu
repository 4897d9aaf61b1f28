// The kernels for few columns: float, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm::few_columns {

template <>
compiled_kernel find_matrix_kernel<float>(std::size_t columns) {
  return find_kernel_of<float, true>(columns);
}

}  // namespace shoal::gmm::few_columns
