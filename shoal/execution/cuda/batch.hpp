// Steps on GPUs that the host asks for many at a time: recorded as graphs, and looked at when a batch of them is done.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include <shoal/execution/cuda/group_graph.hpp>

namespace shoal::cuda {

/// How long the fitting loop may be left without news.
inline constexpr double batch_seconds = 0.05;

/// How many steps to ask for before the host looks, so that it may stop and report.
class batch_size {
 public:
  explicit batch_size(std::size_t most) : most_(most) {}

  /// As many as take about batch_seconds, by what the last batch took; one before the first.
  std::size_t steps() const { return steps_; }
  void took(double seconds, std::size_t steps) {
    const double each = seconds / static_cast<double>(steps);
    steps_ = static_cast<std::size_t>(std::clamp(batch_seconds / each, 1.0, static_cast<double>(most_)));
  }

 private:
  std::size_t most_;
  std::size_t steps_ = 1;
};

/// A step recorded by itself, and several of them as one graph: between the kernels of one graph there is hardly a gap,
/// between graphs there are microseconds, and one launch for several costs the host less.
class recorded_steps {
 public:
  explicit recorded_steps(std::size_t several) : several_(several) {}

  std::size_t several() const { return several_; }
  explicit operator bool() const { return static_cast<bool>(one_graph_); }

  /// Records what `enqueue` puts into the stream for one step, or into the compute streams of a group.
  template <class Enqueue>
  void record(cudaStream_t stream, const Enqueue& enqueue) {
    record_by([&](const auto& steps) { return graph::record(stream, steps); }, enqueue);
  }
  template <class Enqueue>
  void record(device_group& group, const Enqueue& enqueue) {
    record_by([&](const auto& steps) { return cuda::record(group, steps); }, enqueue);
  }

  /// Launches the larger graph that has at most `most` steps, of which there is at least one; returns its steps.
  std::size_t launch(std::size_t most, cudaStream_t stream) const {
    const bool many = most >= several_;
    (many ? several_graph_ : one_graph_).launch(stream);
    return many ? several_ : 1;
  }
  /// Launches that many steps.
  void launch_all(std::size_t steps, cudaStream_t stream) const {
    while (steps > 0) steps -= launch(steps, stream);
  }

 private:
  template <class Record, class Enqueue>
  void record_by(const Record& record, const Enqueue& enqueue) {
    one_graph_ = record(enqueue);
    several_graph_ = record([&] {
      for (std::size_t i = 0; i < several_; ++i) enqueue();
    });
  }

  std::size_t several_;
  graph one_graph_, several_graph_;
};

}  // namespace shoal::cuda
