// Which CUDA devices this machine has.
#include <cuda_runtime_api.h>

#include <string>
#include <utility>
#include <vector>

#include <shoal/core/error.hpp>
#include <shoal/execution/devices.hpp>

namespace shoal {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void require_success(cudaError_t status, const std::string& action) {
  if (status != cudaSuccess) throw error("CUDA could not " + action + ": " + cudaGetErrorString(status));
}

}  // namespace

std::vector<device> cuda_devices() {
  // Without any driver the runtime reports one that is too old; asking for the driver's version tells them apart.
  int driver = 0;
  require_success(cudaDriverGetVersion(&driver), "ask for the driver's version");
  if (driver == 0) return {};
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice) return {};
  if (status == cudaErrorInsufficientDriver) {
    throw error("the CUDA driver serves CUDA " + version_text(driver) + ", but shoal was built with CUDA " +
                version_text(CUDART_VERSION) + "; update the driver");
  }
  require_success(status, "count the devices");

  std::vector<device> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    require_success(cudaGetDeviceProperties(&properties, index), "describe device " + std::to_string(index));
    device found;
    found.index = index;
    found.name = properties.name;
    found.memory_bytes = properties.totalGlobalMem;
    found.compute_capability = 10 * properties.major + properties.minor;
    found.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
    devices.push_back(std::move(found));
  }
  return devices;
}

}  // namespace shoal
