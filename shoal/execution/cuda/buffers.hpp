// Owners of device memory and of host memory that the device reads and writes directly.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {

/// Memory of the device that was current when it was allocated. Elements start uninitialised.
template <class Element>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t size) { grow(size); }
  device_buffer(device_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_buffer() { cudaFree(data_); }

  /// Makes room for at least `size` elements on the current device; the contents are lost when the memory moves.
  /// Throws out_of_memory.
  void grow(std::size_t size) {
    if (size <= size_) return;
    cudaFree(data_);
    data_ = nullptr;
    size_ = 0;
    const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(&data_), size * sizeof(Element));
    if (status == cudaErrorMemoryAllocation) refuse_allocation(size * sizeof(Element));
    check(status, "allocate device memory");
    size_ = size;
  }

  Element* data() { return data_; }
  const Element* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(Element); }

  /// Copies between host and device, in the order of `stream`; the host memory must live until then.
  void upload(std::span<const Element> values, cudaStream_t stream) {
    grow(values.size());
    check(cudaMemcpyAsync(data_, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, stream),
          "copy to the device");
  }
  /// Waits for `stream`.
  std::vector<Element> download(std::size_t count, cudaStream_t stream) const {
    std::vector<Element> values(count);
    check(cudaMemcpyAsync(values.data(), data_, count * sizeof(Element), cudaMemcpyDeviceToHost, stream),
          "copy from the device");
    check(cudaStreamSynchronize(stream), "finish its work");
    return values;
  }
  void fill_with_zeros(cudaStream_t stream) {
    if (size_ > 0) check(cudaMemsetAsync(data_, 0, bytes(), stream), "clear device memory");
  }
  /// Waits until it is done, so that work in any stream finds zeros.
  void fill_with_zeros() {
    fill_with_zeros(cudaStreamLegacy);
    check(cudaStreamSynchronize(cudaStreamLegacy), "clear device memory");
  }

 private:
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Page-locked host memory, which the device copies to and from at the bus's full rate, at the same time as it
/// computes.
template <class Element>
class pinned_buffer {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  pinned_buffer() = default;
  explicit pinned_buffer(std::size_t size) { grow(size); }
  pinned_buffer(pinned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  pinned_buffer& operator=(pinned_buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~pinned_buffer() { cudaFreeHost(data_); }

  void grow(std::size_t size) {
    if (size <= size_) return;
    cudaFreeHost(data_);
    data_ = nullptr;
    size_ = 0;
    check(cudaHostAlloc(reinterpret_cast<void**>(&data_), size * sizeof(Element), cudaHostAllocPortable),
          "lock host memory");
    size_ = size;
  }

  Element* data() { return data_; }
  const Element* data() const { return data_; }
  std::size_t size() const { return size_; }
  Element& operator[](std::size_t index) { return data_[index]; }
  const Element& operator[](std::size_t index) const { return data_[index]; }

 private:
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace shoal::cuda
