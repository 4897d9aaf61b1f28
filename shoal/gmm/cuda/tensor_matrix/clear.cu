// Sums begin with zeros: one launch for all of them, since each of several copies of zeros waits for the one before.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_matrix/kernels.hpp>

namespace shoal::gmm::tensor_matrix {
namespace {

constexpr unsigned threads = 256, most_blocks = 1024;

__device__ void clear(double* values, std::size_t size) {
  const std::size_t step = std::size_t{gridDim.x} * threads, pairs = size / 2;
  const std::size_t first = std::size_t{blockIdx.x} * threads + threadIdx.x;
  for (std::size_t pair = first; pair < pairs; pair += step) {
    reinterpret_cast<double2*>(values)[pair] = make_double2(0, 0);
  }
  if (first == 0 && size % 2 != 0) values[size - 1] = 0;
}

__global__ void __launch_bounds__(threads) clear_kernel(const problem mixture, const sums_to_clear sums) {
  cuda::wait_for_predecessor();
  if (mixture.parameters.stopped != nullptr && *mixture.parameters.stopped != 0) return;
  if (blockIdx.x == 0 && threadIdx.x == 0) *mixture.any_far = 0;
  clear(mixture.sums, sums.lanes);
  clear(mixture.likelihood, sums.likelihood);
  clear(mixture.frame_sums, sums.frame);
}

}  // namespace

void clear_sums(const problem& mixture, const sums_to_clear& sums, cudaStream_t stream) {
  const std::size_t pairs = (std::max({sums.lanes, sums.likelihood, sums.frame}) + 1) / 2;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(most_blocks, (pairs + threads - 1) / threads));
  cuda::launch_in_turn(clear_kernel, std::max(1U, blocks), threads, 0, stream, mixture, sums);
}

}  // namespace shoal::gmm::tensor_matrix
