// Work that a kernel decides about, as a part of a graph that is passed over otherwise.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/check.hpp>

namespace shoal::cuda {

/// Whether what is put into the stream is recorded for a graph.
inline bool is_recorded(cudaStream_t stream) {
  cudaStreamCaptureStatus status{};
  check(cudaStreamIsCapturing(stream, &status), "look at a recording");
  return status == cudaStreamCaptureStatusActive;
}

/// Whether what follows in a stream is done, if the stream is recorded: a kernel before it sets the condition. Kernels
/// that find out that they have nothing to do take 1 to 2 µs each.
class condition {
 public:
  /// There is one where `wanted`; the stream is then recorded.
  condition(cudaStream_t stream, bool wanted) : stream_(stream) {
    if (!wanted) return;
    cudaStreamCaptureStatus status{};
    check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph_, nullptr, nullptr, nullptr),
          "look at a recording");
    check(cudaGraphConditionalHandleCreate(&handle_, graph_, 0, cudaGraphCondAssignDefault), "make a condition");
  }

  bool exists() const { return graph_ != nullptr; }
  /// For cudaGraphSetConditional, where it exists.
  cudaGraphConditionalHandle handle() const { return handle_; }

  /// Records what depends on it, once, where it exists: enqueue(recorder), a stream that nothing else is in.
  template <class Enqueue>
  void when_set(cudaStream_t recorder, const Enqueue& enqueue) const {
    if (!exists()) return;
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle_;
    parameters.conditional.type = cudaGraphCondTypeIf;
    parameters.conditional.size = 1;
    cudaStreamCaptureStatus status{};
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* before = nullptr;
    const cudaGraphEdgeData* edges = nullptr;
    std::size_t count = 0;
    check(cudaStreamGetCaptureInfo(stream_, &status, nullptr, &graph, &before, &edges, &count), "look at a recording");
    cudaGraphNode_t node = nullptr;
    check(cudaGraphAddNode(&node, graph, before, edges, count, &parameters), "make work that depends on a condition");
    check(cudaStreamUpdateCaptureDependencies(stream_, &node, nullptr, 1, cudaStreamSetCaptureDependencies),
          "go on behind work that depends on a condition");
    check(cudaStreamBeginCaptureToGraph(recorder, parameters.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                        cudaStreamCaptureModeThreadLocal),
          "record work that depends on a condition");
    cudaGraph_t body = nullptr;
    try {
      enqueue(recorder);
    } catch (...) {
      cudaStreamEndCapture(recorder, &body);
      throw;
    }
    check(cudaStreamEndCapture(recorder, &body), "record work that depends on a condition");
  }

 private:
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphConditionalHandle handle_{};
};

}  // namespace shoal::cuda
