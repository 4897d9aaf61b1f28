#include <shoal/reaction_diffusion/crank_nicolson.hpp>

#include <algorithm>

#include <shoal/reaction_diffusion/add_noise.hpp>
#include <shoal/reaction_diffusion/implicit_stage.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t damped_steps = 2;

template <class Scalar>
class crank_nicolson final : public stepper<Scalar> {
 public:
  crank_nicolson(const problem& wave, double step, double accuracy, executor& executor)
      : wave_(wave), step_(step), accuracy_(accuracy), nodes_(wave.grid.columns), stages_(wave, executor) {
    right_.grow(nodes_);
    constant_.grow(nodes_);
    before_.grow(nodes_);
    std::fill_n(before_.data(), nodes_, Scalar(0));
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    while (now.done < end) {
      ++now.done;
      const double time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
      if (damped_ < damped_steps) {
        backward_euler(now, step / 2, time - step / 2);
        std::copy_n(now.v.data(), nodes_, before_.data());
        backward_euler(now, step / 2, time);
        ++damped_;
      } else {
        trapezoid(now, step, time);
      }
      now.time = time;
    }
    return end - begin;
  }

  // The state before, which the guess needs, and how many steps were damped.
  std::vector<double> memory() const override {
    std::vector<double> kept(before_.data(), before_.data() + nodes_);
    kept.push_back(static_cast<double>(damped_));
    kept.push_back(static_cast<double>(iterations_));
    kept.push_back(static_cast<double>(solved_));
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, nodes_ + 3);
    std::transform(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.data(),
                   [](double value) { return static_cast<Scalar>(value); });
    damped_ = count_in(kept[nodes_]);
    iterations_ = count_in(kept[nodes_ + 1]);
    solved_ = count_in(kept[nodes_ + 2]);
  }

  std::size_t newton_iterations() const override { return iterations_; }

 private:
  // w⁺ = (w + εh·v⁺) / (1 + εγh)
  void backward_euler(state<Scalar>& now, double step, double time) {
    const parameters& of = wave_.parameters;
    const double share = 1 / (1 + of.epsilon * of.gamma * step), beta = of.epsilon * step * share;
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        constant_[i] = static_cast<Scalar>(share) * now.w[i];
        right_[i] = now.v[i] - static_cast<Scalar>(step) * constant_[i];
      }
      add_noise(wave_, {solved_, step}, now.v.data(), first, end, right_.data());
    });
    find(now, step, beta, time);
  }

  // w⁺ = A·w + B·(v + v⁺) with z = εγh/2, A = (1 − z) / (1 + z) and B = (εh/2) / (1 + z)
  void trapezoid(state<Scalar>& now, double step, double time) {
    const parameters& of = wave_.parameters;
    const double kappa = step / 2, z = of.epsilon * of.gamma * kappa;
    const double keep = (1 - z) / (1 + z), beta = of.epsilon * kappa / (1 + z);
    stages_.rate(now.v.data(), now.w.data(), right_.data());
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) {
        const Scalar v = now.v[i];
        constant_[i] = static_cast<Scalar>(keep) * now.w[i] + static_cast<Scalar>(beta) * v;
        right_[i] = v + static_cast<Scalar>(kappa) * (right_[i] - constant_[i]);
      }
      add_noise(wave_, {solved_, step}, now.v.data(), first, end, right_.data());
      for (std::size_t i = first; i < end; ++i) {
        const Scalar v = now.v[i];
        now.v[i] = 2 * v - before_[i];  // the guess
        before_[i] = v;
      }
    });
    find(now, kappa, beta, time);
  }

  void find(state<Scalar>& now, double kappa, double beta, double time) {
    ++solved_;
    const double input = wave_.has_input() ? wave_.input_at(time) : 0;
    iterations_ += stages_.solve({kappa, beta, right_.data(), input, accuracy_, time}, now.v.data());
    stages_.for_each_range([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) now.w[i] = constant_[i] + static_cast<Scalar>(beta) * now.v[i];
    });
  }

  problem wave_;
  double step_;
  double accuracy_;
  std::size_t nodes_;
  implicit_stage<Scalar> stages_;
  std::size_t damped_ = 0;
  std::size_t iterations_ = 0;
  std::size_t solved_ = 0;  // stages, each with noise of its own
  aligned_buffer<Scalar> right_, constant_, before_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_crank_nicolson(const problem& wave, double step, double accuracy,
                                                     executor& executor) {
  return std::make_unique<crank_nicolson<Scalar>>(wave, step, accuracy, executor);
}

template std::unique_ptr<stepper<double>> make_crank_nicolson<double>(const problem&, double, double, executor&);
template std::unique_ptr<stepper<float>> make_crank_nicolson<float>(const problem&, double, double, executor&);

}  // namespace shoal::reaction_diffusion
