// The GPUs that one computation runs on.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/stream.hpp>
#include <shoal/execution/precision.hpp>

namespace shoal::cuda {

/// One GPU with the streams that are used on it: kernels run in `compute`, rows arrive in `copy`.
struct gpu {
  int device = 0;
  std::string name;
  std::string uuid;  ///< hexadecimal; no other GPU of any machine has it
  std::size_t multiprocessors = 0;
  std::size_t shared_bytes = 0;  ///< most dynamic shared memory of a block
  stream compute;
  stream copy;
};

/// Numbers in the memory of one GPU of a group.
template <class Element>
struct group_part {
  std::size_t gpu = 0;
  const Element* values = nullptr;
};

/// Throws bad_argument when a device is named twice.
void check_named_once(std::span<const int> devices);

/// The GPUs of one computation, the first of which holds what they compute together. A device that is named several
/// times is as many members, which share it: tests run many GPUs on one in this way.
class device_group {
 public:
  /// Throws bad_argument when a device does not exist, error when it cannot be used.
  explicit device_group(std::span<const int> devices, shoal::precision precision = shoal::precision::float32);

  std::size_t size() const { return gpus_.size(); }
  gpu& operator[](std::size_t index) { return gpus_[index]; }
  const gpu& operator[](std::size_t index) const { return gpus_[index]; }
  /// In which kernels multiply float32 rows.
  shoal::precision precision() const { return precision_; }
  /// "NVIDIA H200": what bits depend on. Their number changes none, but where kinds are mixed every one is named, since
  /// each does its own rows.
  std::string kind() const;
  /// Whether every one reads and writes the others' memory directly.
  bool direct() const { return direct_; }
  /// Waits for every stream.
  void synchronize() const;

  /// The others' compute streams go on when the first one's has come here.
  void fork();
  /// The first one's compute stream goes on when all of them have come here. What is enqueued in any of them between
  /// fork() and join() belongs to what follows in the first one's, which can be recorded as one graph.
  void join();

  /// Adds numbers up on the first, in the order of the parts: into[i] = Σ_p parts[p].values[i] for i < count. A part is
  /// ready in its GPU's compute stream; so is `into`, memory of the first one, in that one's afterwards. It may be
  /// the first part, which alone is its own sum. The others' compute streams go on afterwards. Element: double, or long
  /// long.
  template <class Element>
  void sum_on_first(const std::vector<group_part<Element>>& parts, Element* into, std::size_t count);
  /// Copies `bytes` from memory of the first GPU to memory of each other one, between their compute streams.
  /// `to[0]` is not looked at. The first one's compute stream goes on afterwards.
  void broadcast(const void* from, std::span<void* const> to, std::size_t bytes);
  /// The same, but the first one's compute stream goes on at once: whatever changes `from` is enqueued in a stream
  /// after hold_for_broadcast() in it.
  void start_broadcast(const void* from, std::span<void* const> to, std::size_t bytes);
  void hold_for_broadcast(cudaStream_t stream);

 private:
  shoal::precision precision_;
  std::vector<gpu> gpus_;
  bool direct_ = true;
  bool broadcasting_ = false;  // what ready_ says of the others is the end of a broadcast
  device_buffer<unsigned char> gathered_;
  std::vector<event> ready_;
};

extern template void device_group::sum_on_first(const std::vector<group_part<double>>&, double*, std::size_t);
extern template void device_group::sum_on_first(const std::vector<group_part<long long>>&, long long*, std::size_t);

}  // namespace shoal::cuda
