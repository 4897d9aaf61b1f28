// The kernels for few columns: float, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm {

template <>
small_kernel find_small_matrix_kernel<float>(std::size_t columns) {
  return find_small_kernel<float, true>(columns);
}

}  // namespace shoal::gmm
