// Work that is asked for again and again, a few times ahead of the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <vector>

#include <shoal/execution/cuda/batch.hpp>
#include <shoal/execution/cuda/stream.hpp>

namespace shoal::cuda {

class launches_ahead {
 public:
  /// So many launches wait for the GPU: enough that it never waits for the host, few, because when the steps stop those
  /// that are under way still pass through the GPU and do nothing.
  explicit launches_ahead(std::size_t in_flight) : done_(in_flight) {}

  /// Calls launch(rest), which puts some of the `rest` units of work that are left into `stream` and returns how many,
  /// until `limit` were launched, batch_seconds are over, the host asks for a stop, or the GPU has stopped by itself,
  /// which stopped() says for the launches that are done.
  template <class Stopped, class Launch>
  void run(std::size_t limit, cudaStream_t stream, const std::stop_token& stop, const Stopped& stopped,
           const Launch& launch) {
    using clock = std::chrono::steady_clock;
    const clock::time_point start = clock::now();
    std::size_t launched = 0;
    for (std::size_t turn = 0; launched < limit; ++turn) {
      event& done = done_[turn % done_.size()];
      if (turn >= done_.size()) {
        done.synchronize();
        const double elapsed = std::chrono::duration<double>(clock::now() - start).count();
        if (stopped() || elapsed > batch_seconds || stop.stop_requested()) return;
      }
      launched += launch(limit - launched);
      done.record(stream);
    }
  }

 private:
  std::vector<event> done_;
};

}  // namespace shoal::cuda
