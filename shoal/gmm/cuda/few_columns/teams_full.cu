// The kernels for few columns and many rows: full and tied covariances.
#include <shoal/gmm/cuda/few_columns/teams.cuh>

namespace shoal::gmm::few_columns {

team_kernel find_full_team_kernel(std::size_t columns, bool small) {
  return find_team_kernel_of<covariance_type::full>(columns, small);
}

}  // namespace shoal::gmm::few_columns
