// Owner of work that was recorded from a stream once and is launched many times.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {

class graph {
 public:
  graph() = default;
  graph(graph&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  graph& operator=(graph&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~graph() {
    if (handle_ != nullptr) cudaGraphExecDestroy(handle_);
  }

  /// Records what `enqueue` puts into `stream`, which neither allocates nor waits. Nothing runs yet.
  template <class Enqueue>
  static graph record(cudaStream_t stream, const Enqueue& enqueue) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "record a graph");
    cudaGraph_t recorded = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream, &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &recorded), "record a graph");
    return make(recorded, stream);
  }

  /// Makes a graph ready that was put together by hand, and destroys what it was made of.
  static graph make(cudaGraph_t parts, cudaStream_t stream) {
    graph made;
    const cudaError_t status = cudaGraphInstantiate(&made.handle_, parts, 0);
    cudaGraphDestroy(parts);
    check(status, "make a graph ready");
    check(cudaGraphUpload(made.handle_, stream), "upload a graph");
    return made;
  }

  explicit operator bool() const { return handle_ != nullptr; }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(handle_, stream), "launch a graph"); }

 private:
  cudaGraphExec_t handle_ = nullptr;
};

}  // namespace shoal::cuda
