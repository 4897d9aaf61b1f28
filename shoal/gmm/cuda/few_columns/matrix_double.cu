// The kernels for few columns: double, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm::few_columns {

template <>
compiled_kernel find_matrix_kernel<double>(std::size_t columns) {
  return find_kernel_of<double, true>(columns);
}

}  // namespace shoal::gmm::few_columns
