#include <shoal/estimation/cuda/cluster_rows.cuh>

namespace shoal {

SHOAL_INSTANTIATE(cluster_measure::columns)

}  // namespace shoal
