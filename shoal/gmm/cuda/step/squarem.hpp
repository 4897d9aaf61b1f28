// Squared extrapolation on a GPU: what an accelerated fit keeps there beside its mixture.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/fit_loop.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/step/squarem_kernels.hpp>
#include <shoal/gmm/squarem.hpp>

namespace shoal::gmm {

/// By the rule and in the coordinates of squarem_fit (squarem.hpp), for the model of the step_arguments that it is
/// given, which are always of the same memory. Its calls enqueue in `stream`, of the GPU that was current when it was
/// made, and wait where that is said.
template <class Scalar>
class device_squarem {
 public:
  device_squarem(const statistics_layout& layout, const data_summary& summary, double tolerance, cudaStream_t stream);

  /// A fit begins at an objective, not-a-number where none is known.
  void begin(double objective, cudaStream_t stream);
  /// The present model begins a cycle.
  void begin_cycle(const step_arguments<Scalar>& step, cudaStream_t stream);
  /// What stands before, between and behind steps, as extrapolate() of squarem_kernels.hpp says.
  void extrapolate(const step_arguments<Scalar>& step, squarem_work work, cudaStream_t stream);
  /// Has the state copied to the host, where it is when the stream is done.
  void enqueue_download(cudaStream_t stream);
  /// What the first `count` steps did since step_state was written, of which `objectives` are known.
  std::vector<step_record> records(std::span<const double> objectives) const;

  /// All that the next step depends on, but the model. They wait; the state has been downloaded. restore() throws
  /// bad_data for a state of another size.
  std::vector<double> save(cudaStream_t stream) const;
  void restore(std::span<const double> state, cudaStream_t stream);
  std::size_t state_size() const { return course_size + points_.size() + norms_.size(); }

 private:
  squarem_arguments<Scalar> arguments(const step_arguments<Scalar>& step);
  void upload_course(squarem_course course, cudaStream_t stream);

  device_layout layout_;
  double tolerance_;
  double common_scale_;
  cuda::device_buffer<squarem_state> state_;
  cuda::device_buffer<double> points_;
  cuda::device_buffer<double> kept_;
  cuda::device_buffer<double> norms_;
  cuda::device_buffer<double> columns_;  // means, then scales
  cuda::pinned_buffer<squarem_state> host_state_;
};
extern template class device_squarem<float>;
extern template class device_squarem<double>;

}  // namespace shoal::gmm
