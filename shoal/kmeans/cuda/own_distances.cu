#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/kmeans/cuda/far_rows.hpp>

namespace shoal::kmeans {
namespace {

constexpr unsigned threads = 256;

// Nothing is contracted: the sum has the bits of the host's.
template <class Scalar>
__global__ void own_distances_kernel(const Scalar* rows, const std::int32_t* labels, std::size_t count,
                                     std::size_t columns, const double* centroids, double* distances) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const double* const centroid = centroids + static_cast<std::size_t>(labels[i]) * columns;
  double distance = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    const double difference = __dsub_rn(static_cast<double>(rows[i * columns + j]), centroid[j]);
    distance = __dadd_rn(distance, __dmul_rn(difference, difference));
  }
  distances[i] = distance;
}

}  // namespace

template <class Scalar>
void measure_own_distances(const Scalar* rows, const std::int32_t* labels, std::size_t count, std::size_t columns,
                           const double* centroids, double* distances, cudaStream_t stream) {
  if (count == 0) return;
  own_distances_kernel<<<static_cast<unsigned>((count + threads - 1) / threads), threads, 0, stream>>>(
      rows, labels, count, columns, centroids, distances);
  cuda::check_launch("measure_own_distances");
}

template void measure_own_distances(const float*, const std::int32_t*, std::size_t, std::size_t, const double*, double*,
                                    cudaStream_t);
template void measure_own_distances(const double*, const std::int32_t*, std::size_t, std::size_t, const double*,
                                    double*, cudaStream_t);

}  // namespace shoal::kmeans
