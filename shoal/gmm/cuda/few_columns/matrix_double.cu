// The kernels for few columns: double, full and tied covariances.
#include <shoal/gmm/cuda/few_columns/accumulate.cuh>

namespace shoal::gmm::few_columns {

template <>
compiled_kernel find_matrix_kernel<double>(std::size_t columns) {
  return find_kernel_of<double, true>(columns);
}

const void* find_many_origin_kernel(std::size_t columns) {
  static_assert(may_share_origin<double>(7, true) && may_share_origin<double>(8, true));
  return columns == 7 ? reinterpret_cast<const void*>(&accumulate_near_or_apart<7, true>)
                      : reinterpret_cast<const void*>(&accumulate_near_or_apart<8, true>);
}

}  // namespace shoal::gmm::few_columns
