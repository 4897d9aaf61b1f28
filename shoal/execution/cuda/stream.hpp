// Owners of streams, events and the current device.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {

/// Makes a device current for the calling thread, until the end of the scope.
class device_scope {
 public:
  explicit device_scope(int device) {
    check(cudaGetDevice(&before_), "name the current device");
    check(cudaSetDevice(device), "use the device");
  }
  ~device_scope() { cudaSetDevice(before_); }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int before_ = 0;
};

/// A stream of the device that was current when it was made.
class stream {
 public:
  stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "make a stream"); }
  stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  stream& operator=(stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~stream() {
    if (handle_ != nullptr) cudaStreamDestroy(handle_);
  }
  operator cudaStream_t() const { return handle_; }
  void synchronize() const { check(cudaStreamSynchronize(handle_), "finish its work"); }

 private:
  cudaStream_t handle_ = nullptr;
};

/// A point in a stream that other streams and the host can wait for; nothing to wait for until it was recorded. Belongs
/// to the device that is current when it is first recorded. Keeps no time.
class event {
 public:
  event() = default;
  event(event&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  event& operator=(event&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~event() {
    if (handle_ != nullptr) cudaEventDestroy(handle_);
  }
  void record(cudaStream_t stream) {
    if (handle_ == nullptr) check(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "make an event");
    check(cudaEventRecord(handle_, stream), "record an event");
  }
  void hold(cudaStream_t stream) const {
    if (handle_ != nullptr) check(cudaStreamWaitEvent(stream, handle_), "wait for an event");
  }
  void synchronize() const {
    if (handle_ != nullptr) check(cudaEventSynchronize(handle_), "finish its work");
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace shoal::cuda
