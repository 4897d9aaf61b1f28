// What all fits on GPUs share: the model there, and what the host does for it.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <shoal/gmm/cuda/expectation.hpp>
#include <shoal/gmm/cuda/fit_rows.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// The rows for empty components come from the host's rows by folds on the context's workers, and so do first models
/// when there is no `first_model`.
template <class Scalar>
class device_fit : public mixture_stepper {
 public:
  double score() override;
  const model& current() const override;
  std::size_t reseeded() const override { return reseeded_; }

 protected:
  /// Kernels are chosen for sums of `sum_rows` rows of each GPU, of all rows `again` and again.
  explicit device_fit(const device_fit_rows<Scalar>& fit,
                      std::size_t sum_rows = std::numeric_limits<std::size_t>::max(), bool again = true);

  /// The model has been replaced by one that no step led to.
  virtual void forget() = 0;
  /// What the last step maximised, when the GPU has stopped it because a component has no rows.
  virtual statistics stopped_statistics() = 0;
  /// The same about other centres, under `start`, which the last step began with and `parts_` has prepared. Sums that
  /// were of several models are then of this one.
  virtual statistics statistics_about(const model& start, std::span<const double> centres);

  void begin(model first, std::size_t reseeded);
  void begin_restart(std::size_t restart);
  /// The present model on all GPUs, prepared; throws when it cannot be.
  void make_ready();
  [[noreturn]] void refuse_present_model();
  /// Does for the last step what the GPU leaves to the host.
  void finish(stop_reason reason, refusal::code failure);
  /// Whether the GPUs have been told to do nothing.
  bool stopped() const { return stopped_; }

  device_fit_rows<Scalar> fit_;
  statistics_layout layout_;
  device_parts<Scalar> parts_;
  expectation_step<Scalar> expectation_;

 private:
  void fill_empty_components();
  void follow_jump();
  std::vector<std::size_t> maximise_from(const model& start, model& next);

  mutable model model_;
  mutable bool model_here_ = true;  // model_ is the present one, not only the GPU's
  bool prepared_ = false;           // the GPUs hold the present model
  bool stopped_ = false;            // and have been told to do nothing
  refusal::code failure_ = refusal::none;
  std::size_t reseeded_ = 0;
};
extern template class device_fit<float>;
extern template class device_fit<double>;

}  // namespace shoal::gmm
