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
  std::size_t multiprocessors = 0;
  std::size_t shared_bytes = 0;  ///< most dynamic shared memory of a block
  stream compute;
  stream copy;
};

/// The GPUs of one computation, the first of which holds what they compute together.
class device_group {
 public:
  /// Throws bad_argument when a device does not exist or is named twice, error when it cannot be used.
  explicit device_group(std::span<const int> devices, shoal::precision precision = shoal::precision::float32);

  std::size_t size() const { return gpus_.size(); }
  gpu& operator[](std::size_t index) { return gpus_[index]; }
  const gpu& operator[](std::size_t index) const { return gpus_[index]; }
  /// In which kernels multiply float32 rows.
  shoal::precision precision() const { return precision_; }
  /// "2 x NVIDIA H200", for people and for files that record where bits came from.
  std::string description() const;
  /// Waits for every stream.
  void synchronize() const;

  /// Adds the doubles of all GPUs up on the first, in the order of the GPUs: into[i] = Σ_g parts[g][i] for i < count.
  /// `parts[g]` is memory of GPU g and is ready in its compute stream; so is `into` in the first one's afterwards.
  /// Nothing to do, and no copy, for one GPU when into == parts[0].
  void sum_on_first(std::span<double* const> parts, double* into, std::size_t count);
  /// Copies `bytes` from memory of the first GPU to memory of each other one, between their compute streams.
  /// `to[0]` is not looked at.
  void broadcast(const void* from, std::span<void* const> to, std::size_t bytes);

 private:
  shoal::precision precision_;
  std::vector<gpu> gpus_;
  device_buffer<double> gathered_;
  std::vector<event> ready_;
};

}  // namespace shoal::cuda
