#include <shoal/kmeans/cuda/fold_few.cuh>

namespace shoal::kmeans {

template void fold_few(const sum_plan&, const cuda::device_piece<double>&, const device_centroids<double>&,
                       std::int32_t*, double*, unsigned long long*, const int*, cudaStream_t);

}  // namespace shoal::kmeans
