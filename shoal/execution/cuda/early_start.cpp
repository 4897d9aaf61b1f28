#include <shoal/execution/cuda/early_start.hpp>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {

void start_early(cudaLaunchConfig_t& configuration, cudaLaunchAttribute& attribute) {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "name the current device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  if (major < 9) return;
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  configuration.attrs = &attribute;
  configuration.numAttrs = 1;
}

}  // namespace shoal::cuda
