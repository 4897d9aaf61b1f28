#include <shoal/execution/cuda/device_group.hpp>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/elementwise.hpp>

namespace shoal::cuda {
namespace {

// Copies between the devices go over their own link where there is one, and through the host elsewhere. A connection
// lasts as long as the process, and CUDA cannot be asked for it, so those that were made here are remembered.
void connect(int from, int to) {
  static std::mutex one_at_a_time;
  static std::set<std::pair<int, int>> connected;
  const std::lock_guard lock(one_at_a_time);
  if (connected.contains({from, to})) return;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from, to), "ask how devices are connected");
  if (possible == 0) return;
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // by the rest of the program
  } else {
    check(status, "connect two devices");
  }
  connected.emplace(from, to);
}

}  // namespace

device_group::device_group(std::span<const int> devices, shoal::precision precision) : precision_(precision) {
  int present = 0;
  check(cudaGetDeviceCount(&present), "count the devices");
  if (devices.empty()) throw bad_argument("at least one CUDA device must be named");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int device = devices[i];
    if (device < 0 || device >= present) {
      throw bad_argument(fmt::format("there is no CUDA device {}: this machine has {}", device, present));
    }
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), device) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw bad_argument(fmt::format("CUDA device {} is named twice", device));
    }
    const device_scope scope(device);
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "describe the device");
    gpu added;
    added.device = device;
    added.name = properties.name;
    added.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
    added.shared_bytes = properties.sharedMemPerBlockOptin;
    gpus_.push_back(std::move(added));
    ready_.emplace_back();
    for (std::size_t other = 0; other < i; ++other) {
      connect(device, devices[other]);
      const device_scope back(devices[other]);
      connect(devices[other], device);
    }
  }
}

std::string device_group::description() const {
  return gpus_.size() == 1 ? gpus_[0].name : fmt::format("{} x {}", gpus_.size(), gpus_[0].name);
}

void device_group::synchronize() const {
  for (const gpu& one : gpus_) {
    const device_scope scope(one.device);
    one.copy.synchronize();
    one.compute.synchronize();
  }
}

void device_group::sum_on_first(std::span<double* const> parts, double* into, std::size_t count) {
  const gpu& first = gpus_[0];
  const std::size_t others = gpus_.size() - 1;
  {
    const device_scope scope(first.device);
    gathered_.grow(others * count);
    // The others must not overwrite what the first one may still be adding up.
    if (others > 0) ready_[0].record(first.compute);
  }
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    const device_scope scope(gpus_[g].device);
    ready_[0].hold(gpus_[g].compute);
    check(cudaMemcpyPeerAsync(gathered_.data() + (g - 1) * count, first.device, parts[g], gpus_[g].device,
                              count * sizeof(double), gpus_[g].compute),
          "copy between devices");
    ready_[g].record(gpus_[g].compute);
  }
  const device_scope scope(first.device);
  for (std::size_t g = 1; g < gpus_.size(); ++g) ready_[g].hold(first.compute);
  if (into != parts[0]) {
    check(cudaMemcpyAsync(into, parts[0], count * sizeof(double), cudaMemcpyDeviceToDevice, first.compute),
          "copy on the device");
  }
  if (others == 0) return;
  add_parts(into, gathered_.data(), count, others, first.compute);
}

void device_group::broadcast(const void* from, std::span<void* const> to, std::size_t bytes) {
  if (gpus_.size() == 1) return;
  const gpu& first = gpus_[0];
  {
    const device_scope scope(first.device);
    ready_[0].record(first.compute);
  }
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    const device_scope scope(gpus_[g].device);
    ready_[0].hold(gpus_[g].compute);
    check(cudaMemcpyPeerAsync(to[g], gpus_[g].device, from, first.device, bytes, gpus_[g].compute),
          "copy between devices");
    ready_[g].record(gpus_[g].compute);
  }
  // The first one must not change what the others are still reading.
  const device_scope scope(first.device);
  for (std::size_t g = 1; g < gpus_.size(); ++g) ready_[g].hold(first.compute);
}

}  // namespace shoal::cuda
