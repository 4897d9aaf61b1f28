// Newton's iterations of one stage, on one GPU or on several.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/graph.hpp>
#include <shoal/reaction_diffusion/cuda/device_axon.hpp>

namespace shoal::reaction_diffusion {

/// On one GPU that decides itself when to stop, a graph. On several each one takes both passes of the partition method
/// over its own blocks; what the blocks have in common the first one solves, so that the bits are those of one GPU.
/// After each iteration all learn the largest change, and decide alike.
template <class Scalar>
class newton_loop {
 public:
  /// `memories`: the axon's, perhaps with another w. Borrows the axon.
  newton_loop(device_axon<Scalar>& axon, std::vector<newton_memory<Scalar>> memories);

  /// When all parts have a guess and a right side.
  void solve();
  /// right ← (I − κ·J)⁻¹·right, with the matrix of the last iteration.
  void damp() { pass(true); }

 private:
  void pass(bool damps);
  void tell(bool of_guess);

  device_axon<Scalar>& axon_;
  std::vector<newton_memory<Scalar>> memories_;
  cuda::graph alone_;
  // Of several:
  std::vector<cuda::device_buffer<newton_letter<Scalar>>> letters_;
  std::vector<cuda::event> reduced_, written_, read_;
  cuda::event solved_;
  std::size_t expected_ = 1;  // iterations of the next stage
};

extern template class newton_loop<double>;
extern template class newton_loop<float>;

}  // namespace shoal::reaction_diffusion
