#include <shoal/reaction_diffusion/cuda/crank_nicolson.hpp>

#include <algorithm>
#include <vector>

#include <shoal/reaction_diffusion/cuda/device_axon.hpp>
#include <shoal/reaction_diffusion/cuda/newton_loop.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t damped_steps = 2;

template <class Scalar>
class device_crank_nicolson final : public stepper<Scalar> {
 public:
  device_crank_nicolson(const problem& wave, double step, double accuracy, std::span<const int> devices)
      : wave_(wave), step_(step), accuracy_(accuracy), axon_(wave, devices, 3), newton_(axon_, memories()) {}

  std::size_t steps_between_looks(std::size_t nodes, bool) const override {
    return implicit_steps_between_looks(nodes);
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    axon_.load(now);
    while (now.done < end) {
      ++now.done;
      const double time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
      if (damped_ < damped_steps) {
        backward_euler(step / 2, time - step / 2);
        backward_euler(step / 2, time);
        ++damped_;
      } else {
        trapezoid(step, time);
      }
      now.time = time;
    }
    axon_.look_and_check();
    return end - begin;
  }

  void collect(state<Scalar>& now) override { axon_.collect(now); }

  std::vector<double> memory() const override {
    std::vector<double> kept = axon_.before();
    kept.push_back(static_cast<double>(damped_));
    kept.push_back(static_cast<double>(axon_.iterations()));
    kept.push_back(static_cast<double>(solved_));
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    const std::size_t nodes = wave_.grid.columns;
    expect_words(kept, nodes + 3);
    damped_ = count_in(kept[nodes]);
    axon_.restore(kept, count_in(kept[nodes + 1]));
    solved_ = count_in(kept[nodes + 2]);
  }

  std::size_t newton_iterations() const override { return axon_.iterations(); }

 private:
  void backward_euler(double step, double time) {
    const parameters& of = wave_.parameters;
    const double share = 1 / (1 + of.epsilon * of.gamma * step);
    solve(step, of.epsilon * step * share, share, time, true);
  }

  void trapezoid(double step, double time) {
    const parameters& of = wave_.parameters;
    const double kappa = step / 2, z = of.epsilon * of.gamma * kappa;
    solve(kappa, of.epsilon * kappa / (1 + z), (1 - z) / (1 + z), time, false);
  }

  void solve(double kappa, double beta, double keep, double time, bool damped) {
    const double input = wave_.has_input() ? wave_.input_at(time) : 0;
    const stage_coefficients<Scalar> stage{static_cast<Scalar>(kappa),
                                           static_cast<Scalar>(beta),
                                           static_cast<Scalar>(1 + kappa * beta),
                                           static_cast<Scalar>(keep),
                                           static_cast<Scalar>(input),
                                           3 * kappa,
                                           accuracy_,
                                           time};
    axon_.each([&](std::size_t i, cudaStream_t stream) { begin_step<Scalar>(axon_.memory(i), stage, damped, stream); });
    newton_.solve();
    ++solved_;
  }

  std::vector<newton_memory<Scalar>> memories() const {
    std::vector<newton_memory<Scalar>> all;
    for (std::size_t i = 0; i < axon_.parts(); ++i) all.push_back(axon_.memory(i));
    return all;
  }

  problem wave_;
  double step_;
  double accuracy_;
  device_axon<Scalar> axon_;
  std::size_t damped_ = 0;
  std::size_t solved_ = 0;  // stages, as on the host
  newton_loop<Scalar> newton_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_crank_nicolson(const problem& wave, double step, double accuracy,
                                                            std::span<const int> devices) {
  return std::make_unique<device_crank_nicolson<Scalar>>(wave, step, accuracy, devices);
}

template std::unique_ptr<stepper<double>> make_device_crank_nicolson<double>(const problem&, double, double,
                                                                             std::span<const int>);
template std::unique_ptr<stepper<float>> make_device_crank_nicolson<float>(const problem&, double, double,
                                                                           std::span<const int>);

}  // namespace shoal::reaction_diffusion
