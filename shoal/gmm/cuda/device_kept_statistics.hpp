// What every superchunk contributed when it was last visited, on the first GPU of a group.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/gmm/cuda/kept_kernels.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// One statistic for each superchunk, each about the centres that it was made about, and their total about the present
/// ones. The total is summed anew whenever one is replaced, so nothing is ever subtracted and no rounding stays: for a
/// few superchunks that costs no more than to update it. Works in the first GPU's compute stream, and never waits.
class device_kept_statistics {
 public:
  /// Borrows the group. Throws out_of_memory.
  device_kept_statistics(cuda::device_group& group, const statistics_layout& layout, std::size_t superchunks);

  /// Keeps `fresh` for a superchunk, about `centres` [K][d], and leaves the total as it is.
  void keep(std::size_t superchunk, const double* fresh, const double* centres);
  /// Keeps it and makes the total anew, unless *stopped.
  void replace(std::size_t superchunk, const double* fresh, const double* centres, const int* stopped);
  const double* total() const { return total_.data(); }

  /// All that is kept, in order, and back; both wait.
  void append_to(std::vector<double>& state) const;
  std::size_t state_size() const { return kept_.size() + centres_.size(); }
  void restore(std::span<const double> state);

 private:
  cuda::device_group* group_;
  statistics_layout layout_;
  std::size_t superchunks_;
  cuda::device_buffer<double> kept_;     // [superchunks][size]
  cuda::device_buffer<double> centres_;  // [superchunks][K][d]
  cuda::device_buffer<double> total_;
};

}  // namespace shoal::gmm
