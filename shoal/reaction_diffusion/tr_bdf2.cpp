#include <shoal/reaction_diffusion/tr_bdf2.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <shoal/reaction_diffusion/implicit_stage.hpp>
#include <shoal/reaction_diffusion/tr_bdf2_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

using coefficients = tr_bdf2_coefficients;

template <class Scalar>
class tr_bdf2 final : public tr_bdf2_control<Scalar> {
 public:
  tr_bdf2(const problem& wave, double step, double tolerance, double accuracy, executor& executor)
      : tr_bdf2_control<Scalar>(wave, step, tolerance, accuracy), nodes_(wave.grid.columns), stages_(wave, executor) {
    for (aligned_buffer<Scalar>* part :
         {&rate_, &right_, &constant_, &middle_v_, &middle_w_, &end_v_, &end_w_, &error_, &before_}) {
      part->grow(nodes_);
      std::fill_n(part->data(), nodes_, Scalar(0));
    }
  }

  std::size_t newton_iterations() const override { return iterations_; }

 private:
  std::vector<double> before() const override { return {before_.data(), before_.data() + nodes_}; }
  void restore_before(const std::vector<double>& kept, std::size_t iterations) override {
    std::transform(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.data(),
                   [](double value) { return static_cast<Scalar>(value); });
    iterations_ = iterations;
  }

  // Computes middle_ and end_ from `now`.
  void try_step(const state<Scalar>& now, double step) override {
    const problem& wave = this->wave();
    const parameters& of = wave.parameters;
    const double kappa = coefficients::share * step / 2, decay = 1 / (1 + kappa * of.epsilon * of.gamma);
    const double beta = kappa * of.epsilon * decay;
    const double accuracy = this->accuracy(), share = coefficients::share;
    const auto k = static_cast<Scalar>(kappa);
    const auto input = [&](double time) { return wave.has_input() ? wave.input_at(time) : 0; };
    const Scalar reach = static_cast<Scalar>(this->last_step() > 0 ? share * step / this->last_step() : 0);
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
      const auto b = static_cast<Scalar>(beta), c1 = static_cast<Scalar>(coefficients::from_middle),
                 c2 = static_cast<Scalar>(coefficients::from_begin), d = static_cast<Scalar>(decay),
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
  double estimate(const state<Scalar>& now, double step) override {
    const problem& wave = this->wave();
    const double kappa = coefficients::share * step / 2;
    const auto per_kappa = static_cast<Scalar>(1 / kappa), h = static_cast<Scalar>(step);
    const auto e1 = static_cast<Scalar>(coefficients::of_begin), e2 = static_cast<Scalar>(coefficients::of_middle),
               e3 = static_cast<Scalar>(coefficients::of_end);
    const auto c1 = static_cast<Scalar>(coefficients::from_middle), c2 = static_cast<Scalar>(coefficients::from_begin);
    const auto three = [&](Scalar begin, Scalar middle, Scalar end, Scalar rate) {
      return h * (e1 * rate + e2 * ((middle - begin) * per_kappa - rate) +
                  e3 * (end - c1 * middle + c2 * begin) * per_kappa);
    };
    for (std::size_t i = 0; i < nodes_; ++i) error_[i] = three(now.v[i], middle_v_[i], end_v_[i], rate_[i]);
    if (wave.has_input()) error_[nodes_ - 1] = 0;
    stages_.damp(error_.data());
    const auto epsilon = static_cast<Scalar>(wave.parameters.epsilon),
               gamma = static_cast<Scalar>(wave.parameters.gamma);
    Scalar largest = 0, sum = 0;
    for (std::size_t i = 0; i < nodes_; ++i) {
      const Scalar of_w = three(now.w[i], middle_w_[i], end_w_[i], epsilon * (now.v[i] - gamma * now.w[i]));
      largest = std::max({largest, std::abs(error_[i]), std::abs(of_w)});
      sum += error_[i];
    }
    return std::isfinite(sum) ? static_cast<double>(largest) : std::numeric_limits<double>::quiet_NaN();
  }

  void accept(state<Scalar>& now) override {
    std::swap(before_, now.v);
    std::swap(now.v, end_v_);
    std::swap(now.w, end_w_);
  }

  std::size_t nodes_;
  implicit_stage<Scalar> stages_;
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
