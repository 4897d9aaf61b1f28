// The kernels for few columns and many rows: spherical covariances.
#include <shoal/gmm/cuda/few_columns/teams.cuh>

namespace shoal::gmm::few_columns {

team_kernel find_spherical_team_kernel(std::size_t columns, bool small) {
  return find_team_kernel_of<covariance_type::spherical>(columns, small);
}

}  // namespace shoal::gmm::few_columns
