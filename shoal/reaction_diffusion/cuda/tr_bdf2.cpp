#include <shoal/reaction_diffusion/cuda/tr_bdf2.hpp>

#include <bit>
#include <limits>
#include <vector>

#include <shoal/reaction_diffusion/cuda/device_axon.hpp>
#include <shoal/reaction_diffusion/cuda/tr_bdf2_kernels.hpp>
#include <shoal/reaction_diffusion/tr_bdf2_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

using coefficients = tr_bdf2_coefficients;

template <class Scalar>
class device_tr_bdf2 final : public tr_bdf2_control<Scalar> {
 public:
  device_tr_bdf2(const problem& wave, double step, double tolerance, double accuracy, int device)
      : tr_bdf2_control<Scalar>(wave, step, tolerance, accuracy), axon_(wave, device, 5) {
    const cuda::device_scope scope(device);
    memory_ = {axon_.memory(), axon_.memory().w, axon_.zeros(end_w_), axon_.zeros(rate_)};
    // Newton's w is the middle's in the first stage, and the end's in the second.
    memory_.newton.w = axon_.zeros(middle_w_);
    newton_memory<Scalar> of_end = memory_.newton;
    of_end.w = end_w_.data();
    solve_middle_ = record_newton(memory_.newton, axon_.stream());
    solve_end_ = record_newton(of_end, axon_.stream());
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
    const cuda::device_scope scope(axon_.device());
    const cudaStream_t stream = axon_.stream();
    const tr_bdf2_scalars<Scalar> by = scalars(step);
    set_stage(memory_.newton, stage(step, now.time + coefficients::share * step), stage_place::middle, stream);
    begin_middle(memory_, by, stream);
    solve_middle_.launch(stream);
    set_stage(memory_.newton, stage(step, now.time + step), stage_place::end, stream);
    begin_end(memory_, by, stream);
    solve_end_.launch(stream);
  }

  double estimate(const state<Scalar>&, double step) override {
    const cuda::device_scope scope(axon_.device());
    const cudaStream_t stream = axon_.stream();
    const tr_bdf2_scalars<Scalar> by = scalars(step);
    estimate_error(memory_, by, stream);
    damp(memory_.newton, stream);
    find_largest_error(memory_, by, stream);
    const double error = std::bit_cast<double>(axon_.look_and_check().change);
    return error;
  }

  void accept(state<Scalar>&) override {
    const cuda::device_scope scope(axon_.device());
    accept_end(memory_, axon_.stream());
    cuda::check(cudaMemcpyAsync(axon_.memory().w, end_w_.data(), this->wave().grid.columns * sizeof(Scalar),
                                cudaMemcpyDeviceToDevice, axon_.stream()),
                "keep w");
  }

  device_axon<Scalar> axon_;
  cuda::device_buffer<Scalar> middle_w_, end_w_, rate_;
  tr_bdf2_memory<Scalar> memory_{};
  cuda::graph solve_middle_, solve_end_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_tr_bdf2(const problem& wave, double step, double tolerance,
                                                     double accuracy, int device) {
  return std::make_unique<device_tr_bdf2<Scalar>>(wave, step, tolerance, accuracy, device);
}

template std::unique_ptr<stepper<double>> make_device_tr_bdf2<double>(const problem&, double, double, double, int);
template std::unique_ptr<stepper<float>> make_device_tr_bdf2<float>(const problem&, double, double, double, int);

}  // namespace shoal::reaction_diffusion
