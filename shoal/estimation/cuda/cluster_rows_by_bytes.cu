#include <shoal/estimation/cuda/cluster_rows.cuh>

namespace shoal {

SHOAL_INSTANTIATE(cluster_measure::bytes)

}  // namespace shoal
