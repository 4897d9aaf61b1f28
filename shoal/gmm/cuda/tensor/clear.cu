#include <algorithm>

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor/clear.hpp>

namespace shoal::gmm::tensor {
namespace {

constexpr unsigned threads = 256, most_blocks = 1024;

__global__ void __launch_bounds__(threads)
    clear_kernel(const __grid_constant__ cleared_memory cleared, const int* stopped) {
  cuda::wait_for_predecessor();
  if (stopped != nullptr && *stopped != 0) return;
  const std::size_t first = blockIdx.x * std::size_t{threads} + threadIdx.x, step = gridDim.x * std::size_t{threads};
  for (int i = 0; i < cleared.count; ++i) {
    auto* const fours = static_cast<uint4*>(cleared.at[i]);
    const std::size_t whole = cleared.bytes[i] / sizeof(uint4);
    for (std::size_t at = first; at < whole; at += step) fours[at] = make_uint4(0, 0, 0, 0);
    auto* const words = reinterpret_cast<unsigned*>(fours + whole);
    if (first < cleared.bytes[i] % sizeof(uint4) / sizeof(unsigned)) words[first] = 0;
  }
}

}  // namespace

void clear(const cleared_memory& cleared, const int* stopped, cudaStream_t stream) {
  const std::size_t bytes = *std::max_element(cleared.bytes, cleared.bytes + cleared_memory::most);
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(bytes / (threads * sizeof(uint4)), 1, most_blocks));
  cuda::launch_in_turn(clear_kernel, blocks, threads, 0, stream, cleared, stopped);
}

}  // namespace shoal::gmm::tensor
