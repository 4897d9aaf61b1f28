// The sum of all lanes, one launch.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/small_kernel.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned elements = 16;  // of a block: 128 bytes of each lane
constexpr unsigned parts = 16;     // of the lanes, each a thread's for an element

__global__ void __launch_bounds__(elements* parts)
    merge_lanes_kernel(const double* lanes, std::size_t lane_count, std::size_t count, double* statistics,
                       const int* stopped) {
  __shared__ double sums[parts][elements];
  cuda::wait_for_predecessor();
  const int stop = *stopped;
  const unsigned element = threadIdx.x % elements;
  const unsigned part = threadIdx.x / elements;
  const std::size_t i = std::size_t{blockIdx.x} * elements + element;
  double sum = 0;
  if (i < count) {
#pragma unroll 8
    for (std::size_t lane = part; lane < lane_count; lane += parts) sum += lanes[lane * count + i];
  }
  sums[part][element] = sum;
  __syncthreads();
  if (part != 0 || i >= count || stop != 0) return;
#pragma unroll
  for (unsigned other = 1; other < parts; ++other) sum += sums[other][element];
  statistics[i] = sum;
}

}  // namespace

void merge_lanes(const double* lanes, std::size_t lane_count, std::size_t count, double* statistics, const int* stopped,
                 cudaStream_t stream) {
  cuda::launch_in_turn(merge_lanes_kernel, static_cast<unsigned>((count + elements - 1) / elements), elements * parts,
                       0, stream, lanes, lane_count, count, statistics, stopped);
}

}  // namespace shoal::gmm
