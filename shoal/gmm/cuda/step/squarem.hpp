// Batch expectation-maximisation on GPUs accelerated by squared extrapolation.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/gmm/cuda/expectation_maximization.hpp>
#include <shoal/gmm/cuda/step/between_steps.hpp>
#include <shoal/gmm/cuda/step/squarem_kernels.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/squarem.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// By the rule and in the coordinates of squarem_fit (squarem.hpp), around a fit whose steps stay on the GPUs: between
/// two of them the first GPU extrapolates, without the host.
template <class Scalar>
class device_squarem_fit final : public mixture_stepper, private between_steps {
 public:
  device_squarem_fit(std::unique_ptr<device_expectation_maximization<Scalar>> batch, const data_summary& summary,
                     const options& options);

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most) override { return batch_->advance(most); }
  double score() override { return batch_->score(); }
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  const model& current() const override { return batch_->current(); }
  std::size_t reseeded() const override { return batch_->reseeded(); }

 private:
  void model_replaced() override { in_cycle_ = false; }
  void before_steps() override;
  void after_step() override { extrapolate(squarem_work::go_on); }
  void after_steps() override;
  std::vector<step_record> records(std::span<const double> objectives) const override;

  const cuda::gpu& first() const { return batch_->parts().group()[0]; }
  squarem_arguments<Scalar> arguments();
  void upload_course(squarem_course course);
  void extrapolate(squarem_work work);

  std::unique_ptr<device_expectation_maximization<Scalar>> batch_;
  const options& options_;
  kernel_layout layout_;
  double common_scale_ = 1;
  bool in_cycle_ = false;  // the GPU's points are of the present model
  // On the first GPU:
  cuda::device_buffer<squarem_state> state_;
  cuda::device_buffer<double> points_;
  cuda::device_buffer<double> kept_;
  cuda::device_buffer<double> norms_;
  cuda::device_buffer<double> columns_;  // means, then scales
  cuda::pinned_buffer<squarem_state> host_state_;
};
extern template class device_squarem_fit<float>;
extern template class device_squarem_fit<double>;

}  // namespace shoal::gmm
