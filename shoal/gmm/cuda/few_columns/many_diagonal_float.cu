// The kernels for few columns and many components: float, diag and spherical covariances.
#include <shoal/gmm/cuda/few_columns/many_components.cuh>

namespace shoal::gmm::few_columns {

template <>
many_kernel find_many_diagonal_kernel<float>(std::size_t columns) {
  return find_many_kernel_of<float, false>(columns);
}

}  // namespace shoal::gmm::few_columns
