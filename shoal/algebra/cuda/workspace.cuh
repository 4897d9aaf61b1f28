// Device memory that reductions and scans use between their kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include <shoal/core/error.hpp>

namespace shoal::algebra::gpu {

namespace detail {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that does not stick is not the next call's
  throw error(std::string("CUDA could not ") + what + ": " + cudaGetErrorString(status));
}

constexpr std::size_t divided_up(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

}  // namespace detail

/// Memory of the device that is current when it is first used, kept from call to call. One workspace serves one stream
/// at a time.
class workspace {
 public:
  workspace() = default;
  workspace(const workspace&) = delete;
  workspace& operator=(const workspace&) = delete;
  ~workspace() { cudaFree(data_); }

  /// At least so many bytes, aligned to 256; the contents are lost when the memory moves. Throws out_of_memory.
  void* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    cudaFree(data_);  // waits for the kernels that use it
    data_ = nullptr;
    bytes_ = 0;
    const cudaError_t status = cudaMalloc(&data_, bytes);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw out_of_memory("a reduction or scan needs " + std::to_string(bytes) +
                          " bytes of device memory for itself, and they are not free; free some, or give it fewer "
                          "values at a time");
    }
    detail::check(status, "allocate device memory");
    bytes_ = bytes;
    return data_;
  }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

namespace detail {

// Cuts one piece of memory into aligned arrays: first counts them, then hands them out.
class arrays_of_workspace {
 public:
  template <class Element>
  std::size_t add(std::size_t count) {
    const std::size_t place = bytes_;
    bytes_ += divided_up(count * sizeof(Element), 256) * 256;
    return place;
  }
  void take(workspace& memory) { base_ = static_cast<char*>(memory.at_least(bytes_)); }
  template <class Element>
  Element* at(std::size_t place) const {
    return reinterpret_cast<Element*>(base_ + place);
  }

 private:
  std::size_t bytes_ = 0;
  char* base_ = nullptr;
};

}  // namespace detail
}  // namespace shoal::algebra::gpu
