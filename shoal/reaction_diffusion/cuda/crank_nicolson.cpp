#include <shoal/reaction_diffusion/cuda/crank_nicolson.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/newton.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t damped_steps = 2;
// Kernels read and write whole vectors, the last of which goes on behind the axon.
constexpr std::size_t margin = 32;

template <class Scalar>
class device_crank_nicolson final : public stepper<Scalar> {
 public:
  device_crank_nicolson(const problem& wave, double step, double accuracy, int device)
      : wave_(wave),
        step_(step),
        accuracy_(accuracy),
        nodes_(wave.grid.columns),
        group_(std::vector<int>{device}),
        before_(nodes_, Scalar(0)) {
    const cuda::device_scope scope(device);
    for (cuda::device_buffer<Scalar>* part : {&vectors_[0], &vectors_[1], &vectors_[2], &w_, &right_}) {
      part->grow(nodes_ + margin);
      part->fill_with_zeros(stream());
    }
    scratch_.grow(newton_scratch_values<Scalar>(nodes_));
    state_.grow(1);
    const double weight = wave.parameters.diffusion / (wave.grid.spacing * wave.grid.spacing);
    memory_ = {{vectors_[0].data(), vectors_[1].data(), vectors_[2].data()},
               w_.data(),
               right_.data(),
               scratch_.data(),
               state_.data(),
               {static_cast<Scalar>(wave.parameters.a), static_cast<Scalar>(weight), static_cast<long long>(nodes_),
                wave.has_input()}};
    newton_ = record_newton(memory_, stream());
  }

  ~device_crank_nicolson() override {
    try {
      group_.synchronize();
    } catch (...) {  // what failed was said by then
    }
  }

  std::size_t steps_between_looks(std::size_t nodes) const override {
    return std::max<std::size_t>(4, device_steps_between_looks(nodes) / 64);
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const cuda::device_scope scope(group_[0].device);
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    load(now);
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
    const newton_state<Scalar> found = look();
    if (found.end != newton_end::converged) {
      throw numerical_error(fmt::format("Newton's method did not converge at time {} ({}); give a shorter step",
                                        found.failed_at,
                                        found.end == newton_end::not_finite ? "a value became infinite or not a number"
                                                                            : "its last change was still too large"));
    }
    return end - begin;
  }

  void collect(state<Scalar>& now) override {
    if (!loaded_) return;
    const cuda::device_scope scope(group_[0].device);
    const newton_state<Scalar> found = look();
    copy(vectors_[found.now], now.v.data());
    copy(w_, now.w.data());
  }

  std::vector<double> memory() const override {
    std::vector<Scalar> before = before_;
    std::size_t iterations = iterations_;
    if (loaded_) {
      const cuda::device_scope scope(group_[0].device);
      const newton_state<Scalar> found = look();
      copy(vectors_[found.earlier], before.data());
      iterations += found.iterations;
    }
    std::vector<double> kept(before.begin(), before.end());
    kept.push_back(static_cast<double>(damped_));
    kept.push_back(static_cast<double>(iterations));
    return kept;
  }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, nodes_ + 2);
    std::transform(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(nodes_), before_.begin(),
                   [](double value) { return static_cast<Scalar>(value); });
    damped_ = count_in(kept[nodes_]);
    iterations_ = count_in(kept[nodes_ + 1]);
  }

  std::size_t newton_iterations() const override {
    return iterations_ + (loaded_ ? static_cast<std::size_t>(look().iterations) : 0);
  }

 private:
  cudaStream_t stream() const { return group_[0].compute; }

  newton_state<Scalar> look() const {
    const cuda::device_scope scope(group_[0].device);
    return state_.download(1, stream()).front();
  }

  void copy(const cuda::device_buffer<Scalar>& from, Scalar* to) const {
    cuda::check(cudaMemcpyAsync(to, from.data(), nodes_ * sizeof(Scalar), cudaMemcpyDeviceToHost, stream()),
                "copy a state from the device");
    group_.synchronize();
  }

  void load(const state<Scalar>& now) {
    if (loaded_) return;
    loaded_ = true;
    newton_state<Scalar> first{};
    first.now = 0;
    first.earlier = 1;
    first.refused = std::numeric_limits<unsigned long long>::max();
    first.end = newton_end::converged;
    state_.upload({&first, 1}, stream());
    vectors_[0].upload({now.v.data(), nodes_}, stream());
    vectors_[1].upload(before_, stream());
    w_.upload({now.w.data(), nodes_}, stream());
    group_.synchronize();
  }

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
    begin_stage<Scalar>(memory_,
                        {static_cast<Scalar>(kappa), static_cast<Scalar>(beta), static_cast<Scalar>(1 + kappa * beta),
                         static_cast<Scalar>(keep), static_cast<Scalar>(input), 3 * kappa, accuracy_, time},
                        damped, stream());
    newton_.launch(stream());
  }

  problem wave_;
  double step_;
  double accuracy_;
  std::size_t nodes_;
  cuda::device_group group_;
  std::vector<Scalar> before_;  // until the first step
  bool loaded_ = false;
  std::size_t damped_ = 0;
  std::size_t iterations_ = 0;  // before this run
  cuda::device_buffer<Scalar> vectors_[3], w_, right_, scratch_;
  cuda::device_buffer<newton_state<Scalar>> state_;
  newton_memory<Scalar> memory_{};
  cuda::graph newton_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_crank_nicolson(const problem& wave, double step, double accuracy,
                                                            int device) {
  return std::make_unique<device_crank_nicolson<Scalar>>(wave, step, accuracy, device);
}

template std::unique_ptr<stepper<double>> make_device_crank_nicolson<double>(const problem&, double, double, int);
template std::unique_ptr<stepper<float>> make_device_crank_nicolson<float>(const problem&, double, double, int);

}  // namespace shoal::reaction_diffusion
