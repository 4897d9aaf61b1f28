// Work of a stream, recorded once and launched as a whole.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::kmeans {

/// Owns an executable graph of the device that was current when it was captured.
class graph {
 public:
  graph() = default;
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;
  ~graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  }
  explicit operator bool() const { return executable_ != nullptr; }

  /// Records what `enqueue` puts into `stream`; nothing of it runs.
  template <class Enqueue>
  void capture(cudaStream_t stream, const Enqueue& enqueue) {
    cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "record a graph");
    cudaGraph_t recorded = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream, &recorded);
      if (recorded != nullptr) cudaGraphDestroy(recorded);
      throw;
    }
    cuda::check(cudaStreamEndCapture(stream, &recorded), "record a graph");
    const cudaError_t status = cudaGraphInstantiate(&executable_, recorded, 0);
    cudaGraphDestroy(recorded);
    cuda::check(status, "make a graph");
  }
  void launch(cudaStream_t stream) const { cuda::check(cudaGraphLaunch(executable_, stream), "launch a graph"); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace shoal::kmeans
