// A grid cut into domains, one for each member of a group of GPUs. Each has some of its neighbours' lines too, which go
// wrong one by one as it is stepped, and are fetched anew before they are used up.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/state.hpp>

namespace shoal::reaction_diffusion {

/// Lines [first, end) of the grid, with `before` lines before and `behind` lines behind them. A line is a node of an
/// axon, or a row of the plane, padded to whole vectors.
template <class Scalar>
struct domain {
  std::size_t first, end, before, behind;
  window_end low, high;
  cuda::device_buffer<Scalar> v[2], w[2];  ///< now, and room for the next

  std::size_t lines() const { return before + (end - first) + behind; }
  field<Scalar> part(int which) { return {v[which].data(), w[which].data()}; }
};

template <class Scalar>
class domains {
 public:
  /// `lent`: lines that a domain has of each neighbour at most.
  domains(const problem& wave, cuda::device_group& group, std::size_t lent);

  std::size_t size() const { return parts_.size(); }
  domain<Scalar>& operator[](std::size_t index) { return parts_[index]; }
  std::size_t columns() const { return columns_; }  ///< nodes of a line
  std::size_t pitch() const { return pitch_; }
  int now() const { return now_; }  ///< which of a domain's parts holds the state
  /// After a pass of all domains.
  void swap();

  /// Steps that all domains can take before share(). At most `steps`.
  std::size_t possible(std::size_t steps) const;
  /// So many were taken.
  void take(std::size_t steps);
  /// Fetches the lines of neighbours, which kernels read over the link between GPUs where there is one. The host does
  /// not wait, and a GPU waits for those beside it alone: before it reads what they have, and before it overwrites what
  /// they read, which it does in the second pass from here.
  void share();

  void upload(const state<Scalar>& from);
  /// Waits until it is done.
  void download(state<Scalar>& to);

 private:
  std::size_t before(std::size_t part) const { return (part + size() - 1) % size(); }
  std::size_t behind(std::size_t part) const { return (part + 1) % size(); }
  void copy_lines(std::size_t to, std::size_t to_line, std::size_t from, std::size_t from_line, std::size_t count);
  void hold_for_readers();

  cuda::device_group& group_;
  std::size_t rows_, columns_, pitch_;
  std::size_t lent_ = 0;
  std::size_t left_ = 0;  // of the lines that were lent, those that are right in all domains
  bool open_ = false;     // whether there are neighbours at all
  bool around_;
  bool read_ = false;  // shared_ was recorded, and no stream has waited for it
  int now_ = 0;
  std::vector<domain<Scalar>> parts_;
  std::vector<cuda::event> stepped_, shared_;
};

}  // namespace shoal::reaction_diffusion
