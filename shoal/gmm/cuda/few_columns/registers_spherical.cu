// The kernels for few columns and few components: spherical covariances.
#include <shoal/gmm/cuda/few_columns/registers.cuh>

namespace shoal::gmm::few_columns {

register_kernel find_spherical_register_kernel(std::size_t columns, std::size_t components) {
  return find_register_kernel_of<covariance_type::spherical>(columns, components);
}

}  // namespace shoal::gmm::few_columns
