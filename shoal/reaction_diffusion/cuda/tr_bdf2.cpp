#include <shoal/reaction_diffusion/cuda/tr_bdf2.hpp>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include <shoal/reaction_diffusion/cuda/device_axon.hpp>
#include <shoal/reaction_diffusion/cuda/newton_loop.hpp>
#include <shoal/reaction_diffusion/cuda/tr_bdf2_kernels.hpp>
#include <shoal/reaction_diffusion/tr_bdf2_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

using coefficients = tr_bdf2_coefficients;

template <class Scalar>
class device_tr_bdf2 final : public tr_bdf2_control<Scalar> {
 public:
  device_tr_bdf2(const problem& wave, double step, double tolerance, double accuracy, std::span<const int> devices)
      : tr_bdf2_control<Scalar>(wave, step, tolerance, accuracy), axon_(wave, devices, 5), parts_(axon_.parts()) {
    std::vector<newton_memory<Scalar>> of_middle, of_end;
    axon_.each([&](std::size_t i, cudaStream_t) {
      part& own = parts_[i];
      own.memory = {axon_.memory(i), axon_.memory(i).w, axon_.zeros(i, own.end_w), axon_.zeros(i, own.rate)};
      // Newton's w is the middle's in the first stage, and the end's in the second.
      own.memory.newton.w = axon_.zeros(i, own.middle_w);
      of_middle.push_back(own.memory.newton);
      of_end.push_back(own.memory.newton);
      of_end.back().w = own.memory.end_w;
    });
    solve_middle_ = std::make_unique<newton_loop<Scalar>>(axon_, of_middle);
    solve_end_ = std::make_unique<newton_loop<Scalar>>(axon_, of_end);
  }

  std::size_t steps_between_looks(std::size_t nodes, bool) const override {
    return implicit_steps_between_looks(nodes);
  }
  void collect(state<Scalar>& now) override { axon_.collect(now); }
  std::size_t newton_iterations() const override { return axon_.iterations(); }

 private:
  void begin(const state<Scalar>& now) override { axon_.load(now); }
  void end() override { axon_.look_and_check(); }

  std::vector<double> before() const override { return axon_.before(); }
  void restore_before(const std::vector<double>& kept, std::size_t iterations) override {
    axon_.restore(kept, iterations);
  }

  tr_bdf2_scalars<Scalar> scalars(double step) const {
    const parameters& of = this->wave().parameters;
    const double kappa = coefficients::share * step / 2, decay = 1 / (1 + kappa * of.epsilon * of.gamma);
    const auto narrow = [](double value) { return static_cast<Scalar>(value); };
    return {narrow(kappa),
            narrow(decay * (1 - kappa * of.epsilon * of.gamma)),
            narrow(decay * kappa * of.epsilon),
            narrow(decay),
            narrow(coefficients::from_middle),
            narrow(coefficients::from_begin),
            narrow(this->last_step() > 0 ? coefficients::share * step / this->last_step() : 0),
            narrow(1 / coefficients::share),
            narrow(step),
            narrow(1 / kappa),
            narrow(coefficients::of_begin),
            narrow(coefficients::of_middle),
            narrow(coefficients::of_end),
            narrow(of.epsilon),
            narrow(of.gamma)};
  }

  stage_coefficients<Scalar> stage(double step, double time) const {
    const problem& wave = this->wave();
    const double kappa = coefficients::share * step / 2;
    const double beta = kappa * wave.parameters.epsilon / (1 + kappa * wave.parameters.epsilon * wave.parameters.gamma);
    return {static_cast<Scalar>(kappa),
            static_cast<Scalar>(beta),
            static_cast<Scalar>(1 + kappa * beta),
            0,
            static_cast<Scalar>(wave.has_input() ? wave.input_at(time) : 0),
            3 * kappa,
            this->accuracy(),
            time};
  }

  void try_step(const state<Scalar>& now, double step) override {
    const tr_bdf2_scalars<Scalar> by = scalars(step);
    const stage_coefficients<Scalar> middle = stage(step, now.time + coefficients::share * step);
    axon_.each([&](std::size_t i, cudaStream_t stream) {
      set_stage(parts_[i].memory.newton, middle, stage_place::middle, stream);
      begin_middle(parts_[i].memory, by, stream);
    });
    solve_middle_->solve();
    const stage_coefficients<Scalar> end = stage(step, now.time + step);
    axon_.each([&](std::size_t i, cudaStream_t stream) {
      set_stage(parts_[i].memory.newton, end, stage_place::end, stream);
      begin_end(parts_[i].memory, by, stream);
    });
    solve_end_->solve();
  }

  double estimate(const state<Scalar>&, double step) override {
    const tr_bdf2_scalars<Scalar> by = scalars(step);
    axon_.each([&](std::size_t i, cudaStream_t stream) { estimate_error(parts_[i].memory, by, stream); });
    solve_end_->damp();
    axon_.each([&](std::size_t i, cudaStream_t stream) { find_largest_error(parts_[i].memory, by, stream); });
    axon_.look_and_check();
    unsigned long long largest = 0;
    for (std::size_t i = 0; i < axon_.parts(); ++i) largest = std::max(largest, axon_.look(i).change);
    return std::bit_cast<double>(largest);
  }

  void accept(state<Scalar>&) override {
    axon_.each([&](std::size_t i, cudaStream_t stream) {
      const newton_memory<Scalar>& own = axon_.memory(i);
      accept_end(parts_[i].memory, stream);
      cuda::check(cudaMemcpyAsync(own.w + own.first, parts_[i].memory.end_w + own.first,
                                  static_cast<std::size_t>(own.end - own.first) * sizeof(Scalar),
                                  cudaMemcpyDeviceToDevice, stream),
                  "keep w");
    });
  }

  struct part {
    cuda::device_buffer<Scalar> middle_w, end_w, rate;
    tr_bdf2_memory<Scalar> memory{};
  };
  device_axon<Scalar> axon_;
  std::vector<part> parts_;
  std::unique_ptr<newton_loop<Scalar>> solve_middle_, solve_end_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_tr_bdf2(const problem& wave, double step, double tolerance,
                                                     double accuracy, std::span<const int> devices) {
  return std::make_unique<device_tr_bdf2<Scalar>>(wave, step, tolerance, accuracy, devices);
}

template std::unique_ptr<stepper<double>> make_device_tr_bdf2<double>(const problem&, double, double, double,
                                                                      std::span<const int>);
template std::unique_ptr<stepper<float>> make_device_tr_bdf2<float>(const problem&, double, double, double,
                                                                    std::span<const int>);

}  // namespace shoal::reaction_diffusion
