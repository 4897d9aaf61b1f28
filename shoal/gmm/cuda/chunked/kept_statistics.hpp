// What every superchunk contributed when it was last visited, on the first GPU of a group.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/gmm/cuda/chunked/kept_kernels.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// What a superchunk says now. Memory of the first GPU.
struct fresh_statistics {
  const double* sums = nullptr;     ///< as statistics_layout says
  const double* centres = nullptr;  ///< [K][d] that they are about
};

/// One statistic for each superchunk, each about the centres that it was made about, and their total about the present
/// ones. The total is summed anew whenever one is replaced, so nothing is ever subtracted and no rounding stays: for a
/// few superchunks that costs no more than to update it. Works in the stream that it is given, one of the first GPU,
/// and never waits.
class device_kept_statistics {
 public:
  /// Borrows the group. Throws out_of_memory.
  device_kept_statistics(cuda::device_group& group, const statistics_layout& layout, std::size_t superchunks);

  /// Keeps `fresh` for a superchunk, and leaves the total as it is.
  void keep(std::size_t superchunk, const fresh_statistics& fresh, cudaStream_t stream);
  /// Keeps it and makes the total anew about `centres` [K][d], unless *stopped.
  void replace(std::size_t superchunk, const fresh_statistics& fresh, const double* centres, const int* stopped,
               cudaStream_t stream);
  /// The same if its responsibilities moved by more than the threshold, Σₖ |ΔWₖ| / Σ w; else the log-likelihood alone
  /// is replaced.
  void replace_moved(std::size_t superchunk, const fresh_statistics& fresh, const double* centres, const int* stopped,
                     double threshold, cudaStream_t stream);
  const double* total() const { return total_.data(); }

  /// Counts from now on what replace_moved() folds in. The count waits.
  void begin_count(cudaStream_t stream);
  std::size_t folded(cudaStream_t stream) const;

  /// All that is kept, in order, and back; both wait.
  void append_to(std::vector<double>& state) const;
  void restore(state_reader& state);

 private:
  kept_arguments arguments(std::size_t superchunk, const fresh_statistics& fresh, const double* centres,
                           const int* stopped);

  cuda::device_group* group_;
  statistics_layout layout_;
  std::size_t superchunks_;
  cuda::device_buffer<double> kept_;     // [superchunks][size]
  cuda::device_buffer<double> centres_;  // [superchunks][K][d]
  cuda::device_buffer<double> total_;
  cuda::device_buffer<int> movement_;  // whether the last superchunk moved, and how many did
};

}  // namespace shoal::gmm
