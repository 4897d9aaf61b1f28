// The expectation step on GPUs: rows into the statistics of a mixture.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/learning_accumulator.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// The accumulators of all GPUs of `rows`, which it borrows, and the sums that they leave on the first one: each shard
/// is summed by itself, and the shards are added up in their order.
template <class Scalar>
class expectation_step {
 public:
  /// Kernels are chosen for sums of `shard_rows` rows of each shard, `again` and again: then they may read the rows
  /// once before. Throws out_of_memory, interrupted, and what reading throws.
  expectation_step(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                   std::size_t shard_rows = std::numeric_limits<std::size_t>::max(), bool again = true);

  /// Sums all rows under the mixture that `parts` has prepared. Does not wait.
  void sum_all_rows(const device_parts<Scalar>& parts);
  /// Sums all rows and ends the step (device_parts::maximise()), in fewer launches where it may. Does not wait; for
  /// rows that are resident, of which no other rank has any.
  void sum_and_maximise(device_parts<Scalar>& parts);
  /// Sums those rows of every shard; ranges begin at multiples of cuda::piece_unit. Does not wait.
  void sum_rows(std::span<const cuda::shard_range> ranges, const device_parts<Scalar>& parts);
  /// The sums in the memory of the first GPU, as statistics_layout says. Kernels that stopped leave them as they were.
  const double* sums() const { return total_.size() == 0 ? statistics_[0].data() : total_.data(); }
  /// The first `count` of them; waits.
  std::vector<double> download(std::size_t count) const;
  /// All of them; waits.
  statistics download() const;

 private:
  void learn_rows();
  void sum_pieces(std::span<const cuda::shard_range> ranges, bool all, const device_parts<Scalar>& parts);
  void sum_shards_at_once(const device_parts<Scalar>& parts);
  void sum_up(const std::vector<cuda::group_part<double>>& shards);

  cuda::device_rows<Scalar>* rows_;
  statistics_layout layout_;
  bool shards_at_once_;                                             // one launch of a GPU can do all of its rows
  std::vector<std::unique_ptr<accumulator<Scalar>>> accumulators_;  // of each GPU
  std::vector<learning_accumulator<Scalar>*> learning_;             // the same as what learns; null for others
  std::vector<cuda::device_buffer<double>> statistics_;             // [shards] of each GPU
  cuda::device_buffer<double> total_;                               // of all, on the first; empty for one shard
};
extern template class expectation_step<float>;
extern template class expectation_step<double>;

/// backend::expectation of backend.hpp.
template <class Scalar>
statistics expectation_on_device(cuda::device_rows<Scalar>& rows, const model& model);
extern template statistics expectation_on_device(cuda::device_rows<float>&, const model&);
extern template statistics expectation_on_device(cuda::device_rows<double>&, const model&);

}  // namespace shoal::gmm
