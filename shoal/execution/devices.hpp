// The processors other than the host's that a fold can run on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shoal {

/// A CUDA device, as its driver describes it.
struct device {
  int index = 0;                 ///< number that CUDA gives it
  std::string name;              ///< e.g. "NVIDIA H200"
  std::size_t memory_bytes = 0;  ///< total device memory
  int compute_capability = 0;    ///< 10 · major + minor, e.g. 90
  std::size_t multiprocessors = 0;
};

/// The CUDA devices of this machine, in CUDA's order; empty when there is none or no driver. Throws not_built when
/// shoal was built without CUDA, and error when the driver is there but cannot serve this build.
std::vector<device> cuda_devices();

}  // namespace shoal
