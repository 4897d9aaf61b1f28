// What the fits on GPUs share whose models move within a pass: the cut, the model there, and what the host does for it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/chunked/chunk_plan.hpp>
#include <shoal/gmm/cuda/fit.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/model_file.hpp>
#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

/// The rows of a superchunk are those of its chunks in every shard. Shards are summed by themselves under the same
/// model; the first GPU adds them up, maximises, and gives the others the new parameters.
///
/// A component that has lost all rows ends the pass where it is noticed: it is reseeded at once, as after a pass of
/// batch. On the host the pass goes on without it. So does a mean that jumps (jump.hpp): the step is made again over
/// all rows.
template <class Scalar>
class device_chunked_fit : public device_fit<Scalar> {
 public:
  /// Cut by make_device_chunk_plan().
  explicit device_chunked_fit(const device_fit_rows<Scalar>& fit);
  /// Cut by `plan`; sums are chosen for `sum_rows` rows of each shard.
  device_chunked_fit(const device_fit_rows<Scalar>& fit, const chunk_plan& plan, std::size_t sum_rows);

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;

  const chunk_plan& plan() const { return plan_; }

 protected:
  virtual std::vector<step_record> advance_passes(std::size_t most) = 0;
  /// What the last step maximised, in the memory of the first GPU.
  virtual const double* total() const = 0;

  /// The chunks of superchunk `superchunk` of an order that is drawn anew for each `turn`.
  std::vector<cuda::shard_range> ranges(std::size_t superchunk, std::size_t turn);
  /// Takes in how the steps since begin_steps() ended: what the GPU leaves to the host is done. Waits.
  struct steps_done {
    std::vector<double> objectives;
    stop_reason reason;
  };
  steps_done end_steps();
  /// The records of passes of `pass_steps` steps each. One in which a component lost its rows is shorter. Throws
  /// numerical_error when there is none because the model cannot be prepared.
  std::vector<step_record> records_of(const steps_done& done, std::size_t pass_steps);

  /// Restart, reseeded components and the model.
  std::vector<double> save_model() const;
  void restore_model(state_reader& state);
  std::size_t restart() const { return restart_; }
  /// Steps between the last begin_steps() and end_steps().
  std::size_t last_steps() const { return steps_done_; }

  using device_fit<Scalar>::fit_;
  using device_fit<Scalar>::layout_;
  using device_fit<Scalar>::parts_;
  chunk_plan plan_;

 private:
  statistics stopped_statistics() override;

  std::vector<std::size_t> order_;
  std::size_t ordered_turn_ = static_cast<std::size_t>(-1);
  std::size_t restart_ = 0;
  std::size_t steps_done_ = 0;
};
extern template class device_chunked_fit<float>;
extern template class device_chunked_fit<double>;

}  // namespace shoal::gmm
