// The sums of all lanes of each shard, one launch.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>

namespace shoal::gmm::few_columns {
namespace {

constexpr unsigned elements = 8;  // of a block: 64 bytes of each lane
constexpr unsigned warps = 8;
static_assert(warps * 32 / elements == lane_parts && 32 / elements == neighbouring_parts);

__global__ void __launch_bounds__(warps * 32) merge_kernel(const double* lanes, std::size_t lane_count,
                                                           std::size_t count, double* statistics, const int* stopped) {
  __shared__ double sums[warps][elements];
  cuda::wait_for_predecessor();
  const int stop = *stopped;
  lanes += blockIdx.y * lane_count * count;
  statistics += blockIdx.y * count;
  const unsigned element = threadIdx.x % elements;
  const std::size_t i = std::size_t{blockIdx.x} * elements + element;
  double sum = 0;
  if (i < count) {
#pragma unroll 16
    for (std::size_t lane = threadIdx.x / elements; lane < lane_count; lane += lane_parts)
      sum += lanes[lane * count + i];
  }
  for (unsigned step = elements; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
  if (threadIdx.x % 32 < elements) sums[threadIdx.x / 32][element] = sum;
  __syncthreads();
  if (threadIdx.x >= elements || i >= count || stop != 0) return;
#pragma unroll
  for (unsigned other = 1; other < warps; ++other) sum += sums[other][element];
  statistics[i] = sum;
}

}  // namespace

void merge_lanes(const double* lanes, std::size_t shards, std::size_t lane_count, std::size_t count, double* statistics,
                 const int* stopped, cudaStream_t stream) {
  // Multiprocessors that must divide their memory in another way between two kernels first run dry.
  cuda::check(cudaFuncSetAttribute(merge_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                   cudaSharedmemCarveoutMaxShared),
              "divide the memory of a multiprocessor");
  const dim3 blocks(static_cast<unsigned>((count + elements - 1) / elements), static_cast<unsigned>(shards));
  cuda::launch_in_turn(merge_kernel, blocks, warps * 32, 0, stream, lanes, lane_count, count, statistics, stopped);
}

}  // namespace shoal::gmm::few_columns
