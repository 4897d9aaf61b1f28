// An axon on one GPU or cut among several, for implicit schemes: its vectors, what the GPUs know of Newton's
// iterations, and copies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/newton.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {

/// The devices that an axon of so many nodes is cut among, each of which has whole blocks of the partition method.
std::span<const int> devices_with_blocks(std::span<const int> devices, std::size_t nodes);

template <class Scalar>
class device_axon {
 public:
  /// `vectors` of the iterates' kind. A device that is named several times has as many parts.
  device_axon(const problem& wave, std::span<const int> devices, int vectors);
  ~device_axon();
  device_axon(const device_axon&) = delete;
  device_axon& operator=(const device_axon&) = delete;

  std::size_t parts() const { return parts_.size(); }
  cuda::device_group& group() { return group_; }
  cudaStream_t stream(std::size_t index) const { return group_[index].compute; }
  const newton_memory<Scalar>& memory(std::size_t index) const {
    return parts_[index].memory;
  }  ///< its w is the state's

  /// Calls work(part, stream) for each part, whose device is current.
  template <class Work>
  void each(const Work& work) const {
    for (std::size_t i = 0; i < parts(); ++i) {
      const cuda::device_scope scope(group_[i].device);
      work(i, stream(i));
    }
  }

  /// Zeros for the nodes of a part, on the current device, counted as those of the whole axon. Kernels read and write
  /// whole vectors, the last of which goes on behind the part, and the nodes beside it.
  Scalar* zeros(std::size_t index, cuda::device_buffer<Scalar>& buffer) const;

  /// Takes the state and what was restored of the one before, the first time.
  void load(const state<Scalar>& now);
  void collect(state<Scalar>& now) const;

  /// v before the last step.
  std::vector<double> before() const;
  void restore(const std::vector<double>& before, std::size_t iterations);
  std::size_t iterations() const { return iterations_ + (loaded_ ? static_cast<std::size_t>(look().iterations) : 0); }

  /// Waits for a GPU.
  newton_state<Scalar> look(std::size_t index = 0) const;
  /// Throws numerical_error when an iteration did not converge.
  void look_and_check() const;

 private:
  struct part {
    cuda::device_buffer<Scalar> vectors[5], w, right, scratch;
    cuda::device_buffer<newton_state<Scalar>> state;
    newton_memory<Scalar> memory{};

    std::size_t nodes() const { return static_cast<std::size_t>(memory.end - memory.first); }
  };
  void copy(int vector, Scalar* to) const;  // −1: w

  std::size_t nodes_;
  cuda::device_group group_;
  std::vector<part> parts_;
  std::vector<Scalar> before_;  // until the first step
  bool loaded_ = false;
  std::size_t iterations_ = 0;  // before this run
};

extern template class device_axon<double>;
extern template class device_axon<float>;

/// A GPU takes so many implicit steps between two looks at the clock.
inline std::size_t implicit_steps_between_looks(std::size_t nodes) {
  return std::clamp<std::size_t>((std::size_t{1} << 28) / nodes, 4, 256);
}

}  // namespace shoal::reaction_diffusion
