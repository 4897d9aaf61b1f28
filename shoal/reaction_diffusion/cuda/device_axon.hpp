// An axon on one GPU for implicit schemes: its vectors, what the GPU knows of Newton's iterations, and copies.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/newton.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {

template <class Scalar>
class device_axon {
 public:
  device_axon(const problem& wave, int device, int vectors)
      : nodes_(wave.grid.columns), group_(std::vector<int>{device}), before_(nodes_, Scalar(0)) {
    const cuda::device_scope scope(device);
    Scalar* places[5] = {};
    for (int i = 0; i < vectors; ++i) places[i] = zeros(vectors_[i]);
    scratch_.grow(newton_scratch_values<Scalar>(nodes_));
    state_.grow(1);
    const double weight = wave.parameters.diffusion / (wave.grid.spacing * wave.grid.spacing);
    memory_ = {{places[0], places[1], places[2], places[3], places[4]},
               zeros(w_),
               zeros(right_),
               scratch_.data(),
               state_.data(),
               {static_cast<Scalar>(wave.parameters.a), static_cast<Scalar>(weight), static_cast<long long>(nodes_),
                wave.has_input()}};
  }
  ~device_axon() {
    try {
      group_.synchronize();
    } catch (...) {  // what failed was said by then
    }
  }
  device_axon(const device_axon&) = delete;
  device_axon& operator=(const device_axon&) = delete;

  int device() const { return group_[0].device; }
  cudaStream_t stream() const { return group_[0].compute; }
  const newton_memory<Scalar>& memory() const { return memory_; }  ///< its w is the state's

  /// Zeros for all nodes. Kernels read and write whole vectors, the last of which goes on behind the axon.
  Scalar* zeros(cuda::device_buffer<Scalar>& buffer) {
    buffer.grow(nodes_ + 32);
    buffer.fill_with_zeros(stream());
    return buffer.data();
  }

  /// Takes the state and what was restored of the one before, the first time.
  void load(const state<Scalar>& now) {
    if (loaded_) return;
    loaded_ = true;
    newton_state<Scalar> first{};
    first.now = 0;
    first.earlier = 1;
    first.refused = std::numeric_limits<unsigned long long>::max();
    first.end = newton_end::converged;
    state_.upload({&first, 1}, stream());
    vectors_[0].upload({now.v.data(), nodes_}, stream());
    vectors_[1].upload(before_, stream());
    w_.upload({now.w.data(), nodes_}, stream());
    group_.synchronize();
  }

  void collect(state<Scalar>& now) const {
    if (!loaded_) return;
    const newton_state<Scalar> found = look();
    copy(vectors_[found.now], now.v.data());
    copy(w_, now.w.data());
  }

  /// v before the last step.
  std::vector<double> before() const {
    std::vector<Scalar> values = before_;
    if (loaded_) copy(vectors_[look().earlier], values.data());
    return {values.begin(), values.end()};
  }
  void restore(const std::vector<double>& before, std::size_t iterations) {
    std::transform(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.begin(),
                   [](double value) { return static_cast<Scalar>(value); });
    iterations_ = iterations;
  }
  std::size_t iterations() const { return iterations_ + (loaded_ ? static_cast<std::size_t>(look().iterations) : 0); }

  /// Waits for the GPU.
  newton_state<Scalar> look() const {
    const cuda::device_scope scope(device());
    return state_.download(1, stream()).front();
  }

  /// Throws numerical_error when an iteration did not converge.
  newton_state<Scalar> look_and_check() const {
    const newton_state<Scalar> found = look();
    if (found.end == newton_end::converged) return found;
    throw numerical_error(fmt::format("Newton's method did not converge at time {} ({}); give a shorter step",
                                      found.failed_at,
                                      found.end == newton_end::not_finite ? "a value became infinite or not a number"
                                                                          : "its last change was still too large"));
  }

 private:
  void copy(const cuda::device_buffer<Scalar>& from, Scalar* to) const {
    const cuda::device_scope scope(device());
    cuda::check(cudaMemcpyAsync(to, from.data(), nodes_ * sizeof(Scalar), cudaMemcpyDeviceToHost, stream()),
                "copy a state from the device");
    group_.synchronize();
  }

  std::size_t nodes_;
  cuda::device_group group_;
  std::vector<Scalar> before_;  // until the first step
  bool loaded_ = false;
  std::size_t iterations_ = 0;  // before this run
  cuda::device_buffer<Scalar> vectors_[5], w_, right_, scratch_;
  cuda::device_buffer<newton_state<Scalar>> state_;
  newton_memory<Scalar> memory_{};
};

/// A GPU takes so many implicit steps between two looks at the clock.
inline std::size_t implicit_steps_between_looks(std::size_t nodes) {
  return std::clamp<std::size_t>((std::size_t{1} << 28) / nodes, 4, 256);
}

}  // namespace shoal::reaction_diffusion
