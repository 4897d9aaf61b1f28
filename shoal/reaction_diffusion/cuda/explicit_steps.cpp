#include <shoal/reaction_diffusion/cuda/explicit_steps.hpp>

#include <algorithm>

#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/domains.hpp>
#include <shoal/reaction_diffusion/cuda/explicit_kernels.hpp>
#include <shoal/reaction_diffusion/device_stepper.hpp>
#include <shoal/reaction_diffusion/explicit_steps.hpp>

namespace shoal::reaction_diffusion {
namespace {

// Passes between two fetches of neighbours' lines, which each cost a wait for all GPUs.
constexpr std::size_t axon_passes = 32;
constexpr std::size_t plane_passes = 4;

template <class Scalar>
class device_explicit_steps final : public stepper<Scalar> {
 public:
  device_explicit_steps(const problem& wave, double step, std::span<const int> devices)
      : wave_(wave),
        step_(step),
        in_plane_(wave.grid.rows > 1),
        group_(devices),
        parts_(wave, group_, in_plane_ ? plane_passes * most_plane_steps : axon_passes * most_axon_steps) {}

  ~device_explicit_steps() override {
    try {
      group_.synchronize();
    } catch (...) {  // what failed was said by then
    }
  }

  std::size_t steps_between_looks(std::size_t nodes, bool) const override { return device_steps_between_looks(nodes); }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const auto time_of = [&](std::size_t done) {
      return done == steps ? over.end : over.begin + static_cast<double>(done) * step;
    };
    const auto by = explicit_coefficients_of<Scalar>(wave_, step);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    if (!loaded_) {
      parts_.upload(now);
      loaded_ = true;
    }
    if (wave_.has_input()) upload_input(begin, end, time_of);
    while (now.done < end) {
      const std::size_t wanted = std::min<std::size_t>(end - now.done, in_plane_ ? most_plane_steps : most_axon_steps);
      if (parts_.possible(wanted) == 0) parts_.share();
      const std::size_t count = parts_.possible(wanted);
      for (std::size_t i = 0; i < parts_.size(); ++i) pass(i, static_cast<int>(count), now.done - begin, by);
      parts_.swap();
      parts_.take(count);
      now.done += count;
    }
    group_.synchronize();
    now.time = time_of(now.done);
    return now.done - begin;
  }

  void collect(state<Scalar>& now) override {
    if (loaded_) parts_.download(now);
  }

 private:
  // v at the input at the begin of each step and at the end, for the GPU of the last domain.
  template <class TimeOf>
  void upload_input(std::size_t begin, std::size_t end, const TimeOf& time_of) {
    input_.clear();
    for (std::size_t done = begin; done <= end; ++done) {
      input_.push_back(static_cast<Scalar>(wave_.input_at(time_of(done))));
    }
    const cuda::gpu& last = group_[parts_.size() - 1];
    const cuda::device_scope scope(last.device);
    input_there_.upload(input_, last.compute);
  }

  void pass(std::size_t which, int steps, std::size_t since, const explicit_coefficients<Scalar>& by) {
    const cuda::device_scope scope(group_[which].device);
    domain<Scalar>& part = parts_[which];
    const field<Scalar> now = part.part(parts_.now());
    const field<const Scalar> from{now.v, now.w};
    const field<Scalar> to = part.part(1 - parts_.now());
    const cudaStream_t stream = group_[which].compute;
    if (in_plane_) {
      const plane_part rows{part.lines(), parts_.columns(), parts_.pitch(),
                            part.low,     part.high,        wave_.boundary == boundary::periodic};
      step_plane(from, to, rows, steps, by, stream);
    } else {
      step_axon(from, to, part.lines(), steps, part.low, part.high,
                wave_.has_input() ? input_there_.data() + since : nullptr, by, stream);
    }
  }

  problem wave_;
  double step_;
  bool in_plane_;
  cuda::device_group group_;
  domains<Scalar> parts_;
  bool loaded_ = false;
  std::vector<Scalar> input_;
  cuda::device_buffer<Scalar> input_there_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_explicit_steps(const problem& wave, double step,
                                                            std::span<const int> devices) {
  return std::make_unique<device_explicit_steps<Scalar>>(wave, step, devices);
}

template std::unique_ptr<stepper<double>> make_device_explicit_steps<double>(const problem&, double,
                                                                             std::span<const int>);
template std::unique_ptr<stepper<float>> make_device_explicit_steps<float>(const problem&, double,
                                                                           std::span<const int>);

}  // namespace shoal::reaction_diffusion
