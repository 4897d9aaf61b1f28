// TR-BDF2's coefficients and the control of its steps, wherever the stages are solved.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// Hosea & Shampine (1996).
struct tr_bdf2_coefficients : tr_bdf2_weights {
  /// Weights of the rates at the three places: of the third-order companion less those of the step.
  static constexpr double outer = std::numbers::sqrt2 / 4;
  static constexpr double of_begin = (1 - outer) / 3 - outer;
  static constexpr double of_middle = (3 * outer + 1) / 3 - outer;
  static constexpr double of_end = share / 6 - share / 2;
};

template <class Scalar>
class tr_bdf2_control : public stepper<Scalar> {
 public:
  tr_bdf2_control(const problem& wave, double step, double tolerance, double accuracy)
      : wave_(wave),
        step_(step),
        tolerance_(tolerance),
        accuracy_(step > 0 ? accuracy : std::max(accuracy, 1e-3 * tolerance)) {}

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    begin(now);
    const std::size_t taken = step_ > 0 ? advance_fixed(now, over, most) : advance_by_tolerance(now, over, most);
    end();
    return taken;
  }

  std::vector<double> memory() const override {
    std::vector<double> kept = before();
    kept.insert(kept.end(), {next_, last_, static_cast<double>(refused_), static_cast<double>(newton_iterations())});
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    const std::size_t nodes = wave_.grid.nodes();
    expect_words(kept, nodes + 4);
    next_ = kept[nodes];
    last_ = kept[nodes + 1];
    if (next_ < 0 || last_ < 0) throw foreign_memory();
    refused_ = count_in(kept[nodes + 2]);
    restore_before(kept, count_in(kept[nodes + 3]));
  }

  std::size_t refused_steps() const override { return refused_; }
  std::size_t newton_iterations() const override = 0;

 protected:
  const problem& wave() const { return wave_; }
  double accuracy() const { return accuracy_; }  ///< of Newton's method
  double last_step() const { return last_; }     ///< that led to the present state; 0 before the first

  /// Around the steps of one advance().
  virtual void begin(const state<Scalar>&) {}
  virtual void end() {}
  /// Computes the middle and the end of a step from `now`.
  virtual void try_step(const state<Scalar>& now, double step) = 0;
  /// The largest error of v and w of the step that was tried.
  virtual double estimate(const state<Scalar>& now, double step) = 0;
  /// The end of the step that was tried becomes the state.
  virtual void accept(state<Scalar>& now) = 0;
  /// v before the last step.
  virtual std::vector<double> before() const = 0;
  virtual void restore_before(const std::vector<double>& kept, std::size_t iterations) = 0;

 private:
  std::size_t advance_fixed(state<Scalar>& now, const span& over, std::size_t most) {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t first = now.done, last = std::min(steps, first + most);
    while (now.done < last) {
      try_step(now, step);
      ++now.done;
      go_on(now, step, now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step);
    }
    return last - first;
  }

  std::size_t advance_by_tolerance(state<Scalar>& now, const span& over, std::size_t most) {
    std::size_t taken = 0;
    if (next_ == 0) next_ = std::min(0.01, over.end - now.time);
    while (taken < most && now.time < over.end) {
      // Two equal steps rather than a long and a tiny one.
      const double left = over.end - now.time;
      const double step = next_ >= left ? left : next_ > left / 2 ? left / 2 : next_;
      try_step(now, step);
      const double error = estimate(now, step) / tolerance_;
      if (!(error <= 1)) ++refused_;
      // The error of one step is of third order.
      const double factor = std::isfinite(error) ? std::clamp(0.9 / std::cbrt(error), 0.2, 4.0) : 0.2;
      if (error <= 1) {
        go_on(now, step, step == left ? over.end : now.time + step);
        ++taken;
        // A step that a state cut short says little about the next.
        next_ = step < next_ ? std::max(next_, step * factor) : step * factor;
      } else {
        next_ = step * factor;
        if (next_ < 1e-12 * std::max(1.0, now.time)) {
          throw numerical_error(
              fmt::format("TR-BDF2 cannot reach tolerance {} at time {}: its step fell to {}; give a "
                          "larger tolerance",
                          tolerance_, now.time, next_));
        }
      }
    }
    return taken;
  }

  void go_on(state<Scalar>& now, double step, double time) {
    accept(now);
    last_ = step;
    now.time = time;
  }

  problem wave_;
  double step_;
  double tolerance_;
  double accuracy_;
  double next_ = 0;  // the step that the error allows; 0 before the first
  double last_ = 0;  // the step that led here
  std::size_t refused_ = 0;
};

}  // namespace shoal::reaction_diffusion
