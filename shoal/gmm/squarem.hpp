// Batch expectation-maximisation accelerated by squared extrapolation (Varadhan & Roland 2008), guarded.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/saved_state.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/squarem_rule.hpp>
#include <shoal/gmm/stepper.hpp>

namespace shoal::gmm {

/// With θ₁ and θ₂ the models that one and two iterations make of θ₀, r = θ₁ − θ₀ and v = (θ₂ − θ₁) − r, the next
/// iteration starts from θ₀ − 2αr + α²v, α = −‖r‖ / ‖v‖ and not beyond a bound that grows while it is met. It is
/// dropped, and θ₂ gone on from, when the log-likelihood of its rows is below that of θ₁ or it cannot be factorised:
/// that costs an iteration. So no such model is tried where batch is quick or on its way from a saddle
/// (squarem_rule.hpp), and from centres of k-means++ or k-means fits need no more iterations than batch; from random
/// rows some starts do, since a better model may lead to a longer way. Differences are of coordinates_of(). Every
/// iteration is one pass.
///
/// `change` of a step_record is what an iteration of batch gained, and infinite where none is known.
class squarem_fit final : public mixture_stepper {
 public:
  squarem_fit(std::unique_ptr<batch_stepper> batch, const data_summary& summary, const options& options,
              executor* workers)
      : batch_(std::move(batch)), summary_(summary), options_(options), workers_(workers) {}

  void seed(std::size_t restart) override;
  std::vector<step_record> advance(std::size_t most_steps) override;
  double score() override { return batch_->score(); }
  std::vector<double> save() const override;
  void restore(std::span<const double> state) override;

  const model& current() const override { return batch_->current(); }
  std::size_t reseeded() const override { return batch_->reseeded(); }

 private:
  void begin(double objective);
  step_record follow(model from, double reached, bool reseeded);
  step_record go_on();
  std::optional<step_record> leap();
  std::optional<model> extrapolated();

  std::unique_ptr<batch_stepper> batch_;
  const data_summary& summary_;
  const options& options_;
  executor* workers_;
  squarem_course course_;
  model first_, second_;  // θ₀ and θ₁, as far as the phase has them
};

/// A course as numbers of a saved state. take_course() throws bad_data for what is no course.
inline constexpr std::size_t course_size = 6;
void append_course(const squarem_course& course, std::vector<double>& state);
squarem_course take_course(state_reader& state);

}  // namespace shoal::gmm
