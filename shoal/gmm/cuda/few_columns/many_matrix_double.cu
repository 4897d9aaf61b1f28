// The kernels for few columns and many components: double, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/many_components.cuh>

namespace shoal::gmm::few_columns {

template <>
many_kernel find_many_matrix_kernel<double>(std::size_t columns) {
  return find_many_kernel_of<double, true>(columns);
}

}  // namespace shoal::gmm::few_columns
