// The kernels for few columns: double, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm {

template <>
small_kernel find_small_matrix_kernel<double>(std::size_t columns) {
  return find_small_kernel<double, true>(columns);
}

}  // namespace shoal::gmm
