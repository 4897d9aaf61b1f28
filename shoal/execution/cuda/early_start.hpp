// Kernels that are made ready while the kernel before them ends (programmatic dependent launch).
#pragma once

#include <cuda_runtime_api.h>

namespace shoal::cuda {

/// Lets a launch begin before its predecessor in the stream has ended; the kernel must then wait for it
/// (wait_for_predecessor in launch.cuh). Does nothing on devices older than compute capability 9.0, which cannot. The
/// configuration keeps a pointer to `attribute`.
void start_early(cudaLaunchConfig_t& configuration, cudaLaunchAttribute& attribute);

}  // namespace shoal::cuda
