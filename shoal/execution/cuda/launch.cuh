// Launches of kernels that follow each other closely.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/early_start.hpp>

namespace shoal::cuda {

/// Called first by kernels that launch_in_turn() launches: waits until all that came before in the stream is done, and
/// lets the launch of what comes after begin.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900  // older GPUs run the kernels of a stream one after the other
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/// Launches a kernel that calls wait_for_predecessor(), so that its launch is under way while the work before it ends.
template <class... Parameters, class... Arguments>
void launch_in_turn(void (*kernel)(Parameters...), dim3 blocks, dim3 threads, std::size_t shared, cudaStream_t stream,
                    const Arguments&... arguments) {
  // Without asking a kernel gets 48 KiB together with its own arrays, whose size is not known here: so it asks for any.
  if (shared > 0) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)),
          "give a kernel shared memory");
  }
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  start_early(config, attribute);
  check(cudaLaunchKernelEx(&config, kernel, arguments...), "launch a kernel");
}

}  // namespace shoal::cuda
