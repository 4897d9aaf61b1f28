// The order of a split step's parts and the control of split steps, wherever the parts are computed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>
#include <shoal/reaction_diffusion/parameters.hpp>
#include <shoal/reaction_diffusion/split_rule.hpp>
#include <shoal/reaction_diffusion/stepper.hpp>

namespace shoal::reaction_diffusion {

/// The share of a diffusion step that one solution of a rule's takes.
inline double share_of(part_rule rule) {
  return rule == part_rule::backward_euler ? 1 : rule == part_rule::trapezoid ? 0.5 : tr_bdf2_weights::share / 2;
}

template <class Scalar>
class split_control : public stepper<Scalar> {
 public:
  split_control(const problem& wave, const split_rule& rule) : wave_(wave), rule_(rule) {}

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    begin(now);
    const std::size_t taken = rule_.step > 0 ? advance_fixed(now, over, most) : advance_by_tolerance(now, over, most);
    end(now);
    return taken;
  }

  std::vector<double> memory() const override {
    return {next_, static_cast<double>(damped_), static_cast<double>(refused_), static_cast<double>(iterations_),
            static_cast<double>(noisy_)};
  }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, 5);
    if (kept[0] < 0) throw foreign_memory();
    next_ = kept[0];
    damped_ = count_in(kept[1]);
    refused_ = count_in(kept[2]);
    iterations_ = count_in(kept[3]);
    noisy_ = count_in(kept[4]);
  }

  std::size_t refused_steps() const override { return refused_; }
  std::size_t newton_iterations() const override { return iterations_; }

 protected:
  /// The state, and what one step and two of half its length make of it.
  enum class copy { now, whole, halves };
  enum class component { v, w };

  const problem& wave() const { return wave_; }
  void count_iterations(std::size_t more) { iterations_ += more; }
  std::size_t noisy_steps() const { return noisy_; }
  [[noreturn]] static void refuse_time(double time) {
    throw numerical_error(
        fmt::format("Newton's method did not converge in 40 iterations at time {}; give a shorter step", time));
  }

  /// Around the steps of one advance().
  virtual void begin(state<Scalar>&) {}
  virtual void end(state<Scalar>&) {}
  /// Takes a step of the reaction, or of diffusion along all rows or all columns: `weight` is D·step / Δx², of the
  /// coupling, or step / Δx² where D is a field.
  virtual void react(part_rule rule, double step, double time, copy of, state<Scalar>& now) = 0;
  virtual void sweep_rows(part_rule rule, double weight, component which, copy of, state<Scalar>& now) = 0;
  virtual void sweep_columns(part_rule rule, double weight, component which, copy of, state<Scalar>& now) = 0;
  /// The state becomes the whole step's and the halves' begin; the largest difference of these two; the halves' end
  /// becomes the state.
  virtual void copy_now(const state<Scalar>& now) = 0;
  virtual double difference() = 0;
  virtual void accept_halves(state<Scalar>& now) = 0;
  /// Draws the noise of a step, and adds half of it.
  virtual void draw_noise(const state<Scalar>&, double) {}
  virtual void add_half_of_noise(state<Scalar>&) {}

 private:
  std::size_t advance_fixed(state<Scalar>& now, const span& over, std::size_t most) {
    const std::size_t steps = over.steps_of(rule_.step), begin = now.done, end = std::min(steps, begin + most);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    while (now.done < end) {
      // Half of a step's noise comes before it and half behind, which is what the trapezoidal rule makes of noise in
      // the middle: with R = (1 − z)/(1 + z) for the step, (1 + R)/2 = 1/(1 + z). Its factor is that of the begin
      // (Itô).
      if (wave_.has_noise()) {
        draw_noise(now, step);
        ++noisy_;
        add_half_of_noise(now);
      }
      if (!rule_.by_tr_bdf2 && damped_ < damped_steps) {
        take_step(part_rule::backward_euler, step / 2, now.time, copy::now, now);
        take_step(part_rule::backward_euler, step / 2, now.time, copy::now, now);
        ++damped_;
      } else {
        take_step(sound_rule(), step, now.time, copy::now, now);
      }
      if (wave_.has_noise()) add_half_of_noise(now);
      ++now.done;
      now.time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
    }
    return end - begin;
  }

  // One step and two of half its length: a third of their difference is the error of the two, which are kept.
  std::size_t advance_by_tolerance(state<Scalar>& now, const span& over, std::size_t most) {
    std::size_t taken = 0;
    if (next_ == 0) next_ = std::min(0.01, over.end - now.time);
    while (taken < most && now.time < over.end) {
      const double left = over.end - now.time;
      const double step = next_ >= left ? left : next_ > left / 2 ? left / 2 : next_;
      copy_now(now);
      take_step(sound_rule(), step, now.time, copy::whole, now);
      take_step(sound_rule(), step / 2, now.time, copy::halves, now);
      take_step(sound_rule(), step / 2, now.time, copy::halves, now);
      const double error = difference() / (3 * rule_.tolerance);
      const double factor = std::isfinite(error) ? std::clamp(0.9 / std::cbrt(error), 0.2, 4.0) : 0.2;
      if (error <= 1) {
        accept_halves(now);
        now.time = step == left ? over.end : now.time + step;
        ++taken;
        // A step that a state cut short says little about the next.
        next_ = step < next_ ? std::max(next_, step * factor) : step * factor;
        continue;
      }
      ++refused_;
      next_ = step * factor;
      if (next_ < 1e-12 * std::max(1.0, now.time)) {
        throw numerical_error(
            fmt::format("TR-BDF2 cannot reach tolerance {} at time {}: its step fell to {}; give a larger tolerance",
                        rule_.tolerance, now.time, next_));
      }
    }
    return taken;
  }

  part_rule sound_rule() const { return rule_.by_tr_bdf2 ? part_rule::tr_bdf2 : part_rule::trapezoid; }

  void take_step(part_rule rule, double step, double time, copy of, state<Scalar>& now) {
    const parameters& with = wave_.parameters;
    const bool field = !wave_.fields.diffusion.empty(), lines_meet = wave_.grid.rows > 1;
    const double per_square = 1 / (wave_.grid.spacing * wave_.grid.spacing);
    const double of_v = (field ? 1 : with.diffusion) * per_square, of_w = with.recovery_diffusion * per_square;
    const auto across = [&](component which, double weight) {
      if (weight > 0) sweep_rows(rule, weight, which, of, now);
    };
    const auto down = [&](component which, double weight) {
      if (weight > 0 && lines_meet) sweep_columns(rule, weight, which, of, now);
    };
    react(rule, step / 2, time, of, now);
    // Rows and columns commute, but for D that differs.
    const bool by_halves = field && lines_meet;
    across(component::v, of_v * step * (by_halves ? 0.5 : 1));
    across(component::w, of_w * step);
    down(component::v, (wave_.coupling ? *wave_.coupling : of_v) * step);
    if (!wave_.coupling) down(component::w, of_w * step);
    if (by_halves) across(component::v, of_v * step * 0.5);
    react(rule, step / 2, time, of, now);
  }

  static constexpr std::size_t damped_steps = 2;

  problem wave_;
  split_rule rule_;
  double next_ = 0;  // the step that the error allows; 0 before the first
  std::size_t damped_ = 0;
  std::size_t refused_ = 0;
  std::size_t iterations_ = 0;
  std::size_t noisy_ = 0;  // steps with noise
};

}  // namespace shoal::reaction_diffusion
