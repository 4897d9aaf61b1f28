#include <shoal/execution/cuda/device_group.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/elementwise.hpp>

namespace shoal::cuda {
namespace {

// Devices reach each other's memory over their own link where there is one, and through the host elsewhere. A
// connection lasts as long as the process, and CUDA cannot be asked for it, so those that were made here are
// remembered. False where there can be none.
bool connect(int from, int to) {
  static std::mutex one_at_a_time;
  static std::set<std::pair<int, int>> connected;
  const std::lock_guard lock(one_at_a_time);
  if (connected.contains({from, to})) return true;
  int possible = 0;
  check(cudaDeviceCanAccessPeer(&possible, from, to), "ask how devices are connected");
  if (possible == 0) return false;
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // by the rest of the program
  } else {
    check(status, "connect two devices");
  }
  connected.emplace(from, to);
  return true;
}

// Keeps a byte of page-locked memory until the process ends. The first small piece takes 0.75 ms to lock and the last
// one 0.3 ms to give back on an NVIDIA H200 machine, those between them 3 µs.
void keep_locked_piece() {
  [[maybe_unused]] static void* const piece = [] {
    void* locked = nullptr;
    if (cudaHostAlloc(&locked, 1, cudaHostAllocPortable) != cudaSuccess) cudaGetLastError();  // the next one will tell
    return locked;
  }();
}

}  // namespace

void check_named_once(std::span<const int> devices) {
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto before = devices.first(i);
    if (std::find(before.begin(), before.end(), devices[i]) != before.end()) {
      throw bad_argument(fmt::format("CUDA device {} is named twice", devices[i]));
    }
  }
}

device_group::device_group(std::span<const int> devices, shoal::precision precision) : precision_(precision) {
  int present = 0;
  check(cudaGetDeviceCount(&present), "count the devices");
  if (devices.empty()) throw bad_argument("at least one CUDA device must be named");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int device = devices[i];
    if (device < 0 || device >= present) {
      throw bad_argument(fmt::format("there is no CUDA device {}: this machine has {}", device, present));
    }
    const device_scope scope(device);
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, device), "describe the device");
    keep_locked_piece();
    gpu added;
    added.device = device;
    added.name = properties.name;
    for (const char byte : properties.uuid.bytes) added.uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    added.multiprocessors = static_cast<std::size_t>(properties.multiProcessorCount);
    added.shared_bytes = properties.sharedMemPerBlockOptin;
    gpus_.push_back(std::move(added));
    ready_.emplace_back();
    for (std::size_t other = 0; other < i; ++other) {
      if (devices[other] == device) continue;
      direct_ = connect(device, devices[other]) && direct_;
      const device_scope back(devices[other]);
      direct_ = connect(devices[other], device) && direct_;
    }
  }
}

std::string device_group::kind() const {
  std::string all = gpus_[0].name;
  bool mixed = false;
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    all += " + " + gpus_[g].name;
    mixed = mixed || gpus_[g].name != gpus_[0].name;
  }
  return mixed ? all : gpus_[0].name;
}

void device_group::synchronize() const {
  for (const gpu& one : gpus_) {
    const device_scope scope(one.device);
    one.copy.synchronize();
    one.compute.synchronize();
  }
}

void device_group::fork() {
  if (gpus_.size() == 1) return;
  {
    const device_scope scope(gpus_[0].device);
    ready_[0].record(gpus_[0].compute);
  }
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    const device_scope scope(gpus_[g].device);
    ready_[0].hold(gpus_[g].compute);
  }
}

void device_group::join() {
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    {
      const device_scope scope(gpus_[g].device);
      ready_[g].record(gpus_[g].compute);
    }
    const device_scope scope(gpus_[0].device);
    ready_[g].hold(gpus_[0].compute);
  }
  broadcasting_ = false;
}

template <class Element>
void device_group::sum_on_first(const std::vector<group_part<Element>>& parts, Element* into, std::size_t count) {
  if (parts.size() == 1 && parts[0].gpu == 0 && parts[0].values == into) return;
  const gpu& first = gpus_[0];
  std::vector<const Element*> sources;
  for (const group_part<Element>& part : parts) sources.push_back(part.values);
  if (!direct_) {
    {
      const device_scope scope(first.device);
      gathered_.grow(parts.size() * count * sizeof(Element));
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const gpu& owner = gpus_[parts[p].gpu];
      if (owner.device == first.device) continue;
      const device_scope scope(owner.device);
      Element* const staged = reinterpret_cast<Element*>(gathered_.data()) + p * count;
      check(cudaMemcpyPeerAsync(staged, first.device, parts[p].values, owner.device, count * sizeof(Element),
                                owner.compute),
            "copy between devices");
      sources[p] = staged;
    }
  }
  join();
  {
    const device_scope scope(first.device);
    sum_parts<Element>(into, sources, count, first.compute);
  }
  fork();  // before it is done, the others must not overwrite what the first one adds up
}
template void device_group::sum_on_first(const std::vector<group_part<double>>&, double*, std::size_t);
template void device_group::sum_on_first(const std::vector<group_part<long long>>&, long long*, std::size_t);

void device_group::broadcast(const void* from, std::span<void* const> to, std::size_t bytes) {
  start_broadcast(from, to, bytes);
  if (gpus_.size() == 1) return;
  const device_scope scope(gpus_[0].device);
  hold_for_broadcast(gpus_[0].compute);
}

void device_group::start_broadcast(const void* from, std::span<void* const> to, std::size_t bytes) {
  if (gpus_.size() == 1) return;
  fork();
  for (std::size_t g = 1; g < gpus_.size(); ++g) {
    const device_scope scope(gpus_[g].device);
    if (direct_ && bytes % sizeof(std::uint32_t) == 0) {
      copy_words(static_cast<std::uint32_t*>(to[g]), static_cast<const std::uint32_t*>(from),
                 bytes / sizeof(std::uint32_t), gpus_[g].compute);
    } else {
      check(cudaMemcpyPeerAsync(to[g], gpus_[g].device, from, gpus_[0].device, bytes, gpus_[g].compute),
            "copy between devices");
    }
    ready_[g].record(gpus_[g].compute);
  }
  broadcasting_ = true;
}

void device_group::hold_for_broadcast(cudaStream_t stream) {
  if (!broadcasting_) return;
  for (std::size_t g = 1; g < gpus_.size(); ++g) ready_[g].hold(stream);
}

}  // namespace shoal::cuda
