// What a mixture needs on each GPU of a group, and on the first one beside it: memory, accumulators, the step's end.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/step/maximise.hpp>
#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// Throws numerical_error that says what `code` found in `model`, in the words of prepare() in parameters.hpp.
[[noreturn]] void refuse_model(refusal::code code, const model& model, std::size_t scalar_bytes);

/// A model's numbers one after another: weights, means, covariances.
std::size_t model_size(const statistics_layout& layout);
/// `model` has its type, sizes and names already.
void unpack_model(std::span<const double> values, model& model);

/// An objective that is not known, for device_parts::begin_steps().
inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

/// A mixture on every GPU of a group, in the first one's compute stream. Borrows the group.
template <class Scalar>
class device_parts {
 public:
  device_parts(cuda::device_group& group, const statistics_layout& layout, double regularization);

  const statistics_layout& layout() const { return layout_; }
  cuda::device_group& group() const { return *group_; }
  prepared_parameters<Scalar> parameters(std::size_t gpu) const { return mixtures_[gpu].parameters(); }

  /// Puts the model on the first GPU, prepares it there, and gives it to the others. Waits. Throws numerical_error as
  /// prepare() in parameters.hpp does.
  void prepare(const model& model);
  /// The model as the last maximise() left it. Waits.
  void download_model(model& into) const;
  /// The model before the last maximise(). Waits.
  void download_model_before(model& into) const;

  /// Starts steps that the host will look at together. `previous` is the objective before the first, not-a-number where
  /// it is not known. Does not wait.
  void begin_steps(double previous, double tolerance);
  /// From the next begin_steps() on, so many steps are a pass (step_state::pass_steps); one unless this is called.
  void set_pass_steps(std::size_t steps) { pass_steps_ = static_cast<unsigned>(steps); }
  /// The end of a step: `statistics` are on the first GPU, and so is the new model. Does not wait.
  void maximise(const double* statistics) { maximise(statistics, (*group_)[0].compute); }
  /// The same from lanes that are still to be added up, into `statistics`; where takes_lanes() says so.
  void maximise(const lane_array& lanes, double* statistics);
  bool takes_lanes() const { return takes_lanes_; }
  /// The same in another stream of the first GPU.
  void maximise(const double* statistics, cudaStream_t stream);
  /// The mixture of a GPU, for copies of it.
  prepared_mixture<Scalar>& mixture(std::size_t gpu) { return mixtures_[gpu]; }
  /// The model of the first GPU, for kernels.
  model_arrays model_on_device();
  /// Gives the first GPU's parameters to the others. Does not wait, and neither does the first one's compute stream:
  /// whoever changes them by a kernel of their own calls cuda::device_group::hold_for_broadcast() before.
  void broadcast();
  /// Whether steps have stopped by themselves, as far as the host can see without waiting: surely when the work that
  /// stopped them is known to be done.
  bool stopped() const;
  /// What happened since begin_steps(). Waits for the first GPU.
  const step_state& end_steps();
  /// Lets kernels run again after a stop.
  void resume();

  /// The first GPU's memory, for kernels that change its model between two steps.
  step_arguments<Scalar> arguments() { return arguments(nullptr); }

 private:
  step_arguments<Scalar> arguments(const double* statistics);
  model_arrays arrays_in(cuda::device_buffer<double>& buffer) const;

  cuda::device_group* group_;
  statistics_layout layout_;
  double regularization_;
  unsigned pass_steps_ = 1;
  bool takes_lanes_ = false;
  std::vector<prepared_mixture<Scalar>> mixtures_;
  cuda::device_buffer<double> model_;
  cuda::device_buffer<double> before_;
  cuda::device_buffer<double> work_;
  cuda::device_buffer<step_state> state_;
  cuda::pinned_buffer<step_state> host_state_;
  cuda::pinned_buffer<int> host_reason_;
};
extern template class device_parts<float>;
extern template class device_parts<double>;

}  // namespace shoal::gmm
