#include <shoal/reaction_diffusion/tr_bdf2.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/implicit_stage.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr double share = tr_bdf2_weights::share, from_middle = tr_bdf2_weights::from_middle,
                 from_begin = tr_bdf2_weights::from_begin;
// Weights of the rates at the three places: of the third-order companion less those of the step.
constexpr double outer = std::numbers::sqrt2 / 4;
constexpr double of_begin = (1 - outer) / 3 - outer;
constexpr double of_middle = (3 * outer + 1) / 3 - outer;
constexpr double of_end = share / 6 - share / 2;

template <class Scalar>
class tr_bdf2 final : public stepper<Scalar> {
 public:
  tr_bdf2(const problem& wave, double step, double tolerance, double accuracy, executor& executor)
      : wave_(wave),
        step_(step),
        tolerance_(tolerance),
        accuracy_(accuracy),
        nodes_(wave.grid.columns),
        stages_(wave, executor) {
    for (aligned_buffer<Scalar>* part :
         {&rate_, &right_, &constant_, &middle_v_, &middle_w_, &end_v_, &end_w_, &error_, &before_}) {
      part->grow(nodes_);
      std::fill_n(part->data(), nodes_, Scalar(0));
    }
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    return step_ > 0 ? advance_fixed(now, over, most) : advance_by_tolerance(now, over, most);
  }

  std::vector<double> memory() const override {
    std::vector<double> kept(before_.data(), before_.data() + nodes_);
    kept.insert(kept.end(), {next_, last_, static_cast<double>(refused_), static_cast<double>(iterations_)});
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, nodes_ + 4);
    std::transform(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.data(),
                   [](double value) { return static_cast<Scalar>(value); });
    next_ = kept[nodes_];
    last_ = kept[nodes_ + 1];
    if (next_ < 0 || last_ < 0) throw foreign_memory();
    refused_ = count_in(kept[nodes_ + 2]);
    iterations_ = count_in(kept[nodes_ + 3]);
  }

  std::size_t refused_steps() const override { return refused_; }
  std::size_t newton_iterations() const override { return iterations_; }

 private:
  std::size_t advance_fixed(state<Scalar>& now, const span& over, std::size_t most) {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    while (now.done < end) {
      try_step(now, step);
      ++now.done;
      accept(now, step, now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step);
    }
    return end - begin;
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
        accept(now, step, step == left ? over.end : now.time + step);
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

  // Computes middle_ and end_ from `now`.
  void try_step(const state<Scalar>& now, double step) {
    const parameters& of = wave_.parameters;
    const double kappa = share * step / 2, decay = 1 / (1 + kappa * of.epsilon * of.gamma);
    const double beta = kappa * of.epsilon * decay;
    const double accuracy = step_ > 0 ? accuracy_ : std::max(accuracy_, 1e-3 * tolerance_);
    const auto k = static_cast<Scalar>(kappa);
    const auto input = [&](double time) { return wave_.has_input() ? wave_.input_at(time) : 0; };
    const Scalar reach = static_cast<Scalar>(last_ > 0 ? share * step / last_ : 0);
    stages_.rate(now.v.data(), now.w.data(), rate_.data());
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      const auto keep = static_cast<Scalar>(decay * (1 - kappa * of.epsilon * of.gamma)),
                 gain = static_cast<Scalar>(decay * kappa * of.epsilon);
      for (std::size_t i = first; i < end; ++i) {
        const Scalar v = now.v[i];
        constant_[i] = keep * now.w[i] + gain * v;
        right_[i] = v + k * (rate_[i] - constant_[i]);
        middle_v_[i] = v + reach * (v - before_[i]);
      }
    });
    const double middle = now.time + share * step;
    iterations_ += stages_.solve({kappa, beta, right_.data(), input(middle), accuracy, middle}, middle_v_.data());
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      const auto b = static_cast<Scalar>(beta), c1 = static_cast<Scalar>(from_middle),
                 c2 = static_cast<Scalar>(from_begin), d = static_cast<Scalar>(decay),
                 beyond = static_cast<Scalar>(1 / share);
      for (std::size_t i = first; i < end; ++i) {
        const Scalar v = now.v[i], w = now.w[i], of_v = middle_v_[i];
        middle_w_[i] = constant_[i] + b * of_v;
        constant_[i] = d * (c1 * middle_w_[i] - c2 * w);
        right_[i] = c1 * of_v - c2 * v - k * constant_[i];
        end_v_[i] = v + beyond * (of_v - v);
      }
    });
    const double end_time = now.time + step;
    iterations_ += stages_.solve({kappa, beta, right_.data(), input(end_time), accuracy, end_time}, end_v_.data());
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) end_w_[i] = constant_[i] + static_cast<Scalar>(beta) * end_v_[i];
    });
  }

  // The largest error of v and w. The stages' own equations give the rates at the middle and at the end.
  double estimate(const state<Scalar>& now, double step) {
    const double kappa = share * step / 2;
    const auto per_kappa = static_cast<Scalar>(1 / kappa), h = static_cast<Scalar>(step);
    const auto e1 = static_cast<Scalar>(of_begin), e2 = static_cast<Scalar>(of_middle),
               e3 = static_cast<Scalar>(of_end);
    const auto c1 = static_cast<Scalar>(from_middle), c2 = static_cast<Scalar>(from_begin);
    const auto three = [&](Scalar begin, Scalar middle, Scalar end, Scalar rate) {
      return h * (e1 * rate + e2 * ((middle - begin) * per_kappa - rate) +
                  e3 * (end - c1 * middle + c2 * begin) * per_kappa);
    };
    for (std::size_t i = 0; i < nodes_; ++i) error_[i] = three(now.v[i], middle_v_[i], end_v_[i], rate_[i]);
    if (wave_.has_input()) error_[nodes_ - 1] = 0;
    stages_.damp(error_.data());
    const auto epsilon = static_cast<Scalar>(wave_.parameters.epsilon),
               gamma = static_cast<Scalar>(wave_.parameters.gamma);
    Scalar largest = 0, sum = 0;
    for (std::size_t i = 0; i < nodes_; ++i) {
      const Scalar of_w = three(now.w[i], middle_w_[i], end_w_[i], epsilon * (now.v[i] - gamma * now.w[i]));
      largest = std::max({largest, std::abs(error_[i]), std::abs(of_w)});
      sum += error_[i];
    }
    return std::isfinite(sum) ? static_cast<double>(largest) : std::numeric_limits<double>::quiet_NaN();
  }

  void accept(state<Scalar>& now, double step, double time) {
    std::swap(before_, now.v);
    std::swap(now.v, end_v_);
    std::swap(now.w, end_w_);
    last_ = step;
    now.time = time;
  }

  problem wave_;
  double step_;
  double tolerance_;
  double accuracy_;
  std::size_t nodes_;
  implicit_stage<Scalar> stages_;
  double next_ = 0;  // the step that the error allows; 0 before the first
  double last_ = 0;  // the step that led here
  std::size_t refused_ = 0;
  std::size_t iterations_ = 0;
  aligned_buffer<Scalar> rate_, right_, constant_, middle_v_, middle_w_, end_v_, end_w_, error_, before_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_tr_bdf2(const problem& wave, double step, double tolerance, double accuracy,
                                              executor& executor) {
  return std::make_unique<tr_bdf2<Scalar>>(wave, step, tolerance, accuracy, executor);
}

template std::unique_ptr<stepper<double>> make_tr_bdf2<double>(const problem&, double, double, double, executor&);
template std::unique_ptr<stepper<float>> make_tr_bdf2<float>(const problem&, double, double, double, executor&);

}  // namespace shoal::reaction_diffusion
