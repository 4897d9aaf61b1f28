#include <shoal/reaction_diffusion/cuda/split_steps.hpp>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/device_axon.hpp>
#include <shoal/reaction_diffusion/cuda/split_kernels.hpp>
#include <shoal/reaction_diffusion/diffusion_lines.hpp>
#include <shoal/reaction_diffusion/split_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

// diffusion_lines whose elimination lies on the device.
template <class Scalar>
class device_lines {
 public:
  device_lines(std::size_t nodes, line_ends ends) : lines_(nodes, ends) {}

  std::size_t nodes() const { return lines_.nodes(); }

  line_coefficients<Scalar> prepared(double weight, cudaStream_t stream) {
    if (weight != weight_) {
      weight_ = weight;
      lines_.prepare(weight);
      lower_.upload(lines_.lower(), stream);
      inverse_.upload(lines_.inverse(), stream);
      upper_.upload(lines_.upper(), stream);
      if (!lines_.correction().empty()) correction_.upload(lines_.correction(), stream);
    }
    return {lower_.data(),      inverse_.data(),       upper_.data(),
            correction_.data(), lines_.corner_share(), lines_.corner_scale()};
  }

 private:
  diffusion_lines<Scalar> lines_;
  double weight_ = -1;
  cuda::device_buffer<Scalar> lower_, inverse_, upper_, correction_;
};

template <class Scalar>
class device_split_steps final : public split_control<Scalar> {
 public:
  device_split_steps(const problem& wave, const split_rule& rule, int device)
      : split_control<Scalar>(wave, rule),
        rows_(wave.grid.rows),
        columns_(wave.grid.columns),
        accuracy_(rule.step > 0 ? rule.accuracy : std::max(rule.accuracy, 1e-3 * rule.tolerance)),
        group_(std::vector<int>{device}),
        along_rows_(columns_, ends()),
        along_columns_(rows_, ends()),
        w_along_rows_(columns_, ends()),
        w_along_columns_(rows_, ends()) {
    const cuda::device_scope scope(device);
    for (pair* part : {&now_, &whole_, &halves_}) {
      if (part != &now_ && rule.step > 0) continue;
      part->v.grow(nodes());
      part->w.grow(nodes());
    }
    solution_.grow(nodes());
    turned_.grow(nodes());
    state_.grow(1);
    state_.fill_with_zeros(stream());
  }
  ~device_split_steps() override {
    try {
      group_.synchronize();
    } catch (...) {  // what failed was said by then
    }
  }

  std::size_t steps_between_looks(std::size_t nodes, bool) const override {
    return implicit_steps_between_looks(nodes);
  }

  void collect(state<Scalar>& now) override {
    if (!loaded_) return;
    const cuda::device_scope scope(group_[0].device);
    for (const auto& [from, to] : {std::pair{now_.v.data(), now.v.data()}, std::pair{now_.w.data(), now.w.data()}}) {
      cuda::check(cudaMemcpyAsync(to, from, nodes() * sizeof(Scalar), cudaMemcpyDeviceToHost, stream()),
                  "copy a state from the device");
    }
    group_.synchronize();
  }

 private:
  using typename split_control<Scalar>::copy;
  using typename split_control<Scalar>::component;
  struct pair {
    cuda::device_buffer<Scalar> v, w;
  };

  std::size_t nodes() const { return rows_ * columns_; }
  cudaStream_t stream() const { return group_[0].compute; }
  line_ends ends() const { return this->wave().boundary == boundary::periodic ? line_ends::around : line_ends::mirror; }
  pair& part(copy of) { return of == copy::now ? now_ : of == copy::whole ? whole_ : halves_; }

  void begin(state<Scalar>& now) override {
    if (loaded_) return;
    loaded_ = true;
    const cuda::device_scope scope(group_[0].device);
    now_.v.upload({now.v.data(), nodes()}, stream());
    now_.w.upload({now.w.data(), nodes()}, stream());
    group_.synchronize();
  }
  void end(state<Scalar>&) override { look(); }

  // Waits for the GPU.
  split_state look() {
    const cuda::device_scope scope(group_[0].device);
    const split_state found = state_.download(1, stream()).front();
    if (found.failed != 0) this->refuse_time(found.failed_at);
    this->count_iterations(static_cast<std::size_t>(found.iterations - counted_));
    counted_ = found.iterations;
    return found;
  }

  void react(part_rule rule, double step, double time, copy of, state<Scalar>&) override {
    const cuda::device_scope scope(group_[0].device);
    const parameters& with = this->wave().parameters;
    const auto narrow = [](double value) { return static_cast<Scalar>(value); };
    pair& nodes_of = part(of);
    reaction_diffusion::react<Scalar>(
        {nodes_of.v.data(), nodes_of.w.data()}, nodes(),
        {narrow(with.a), narrow(with.gamma), narrow(with.epsilon), narrow(accuracy_), narrow(step), rule, time},
        state_.data(), stream());
  }

  void sweep_rows(part_rule rule, double weight, component which, copy of, state<Scalar>&) override {
    const cuda::device_scope scope(group_[0].device);
    Scalar* const u = which == component::v ? part(of).v.data() : part(of).w.data();
    turn<Scalar>(u, turned_.data(), rows_, columns_, stream());
    spread(which == component::v ? along_rows_ : w_along_rows_, rule, weight, turned_.data(), rows_);
    turn<Scalar>(turned_.data(), u, columns_, rows_, stream());
  }

  void sweep_columns(part_rule rule, double weight, component which, copy of, state<Scalar>&) override {
    const cuda::device_scope scope(group_[0].device);
    Scalar* const u = which == component::v ? part(of).v.data() : part(of).w.data();
    spread(which == component::v ? along_columns_ : w_along_columns_, rule, weight, u, columns_);
  }

  // As the host's spread().
  void spread(device_lines<Scalar>& lines, part_rule rule, double weight, Scalar* u, std::size_t count) {
    const line_coefficients<Scalar> by = lines.prepared(weight * share_of(rule), stream());
    const auto solve = [&](line_rule then) {
      solve_lines<Scalar>(u, solution_.data(), lines.nodes(), count, by, stream());
      combine_lines<Scalar>(then, solution_.data(), u, lines.nodes(), count, by, stream());
    };
    if (rule == part_rule::backward_euler) return solve(line_rule::keep);
    if (rule == part_rule::trapezoid) return solve(line_rule::reflect);
    solve(line_rule::middle);
    solve(line_rule::keep);
  }

  void copy_now(const state<Scalar>&) override {
    const cuda::device_scope scope(group_[0].device);
    for (pair* to : {&whole_, &halves_}) {
      for (const auto& [from, into] :
           {std::pair{now_.v.data(), to->v.data()}, std::pair{now_.w.data(), to->w.data()}}) {
        cuda::check(cudaMemcpyAsync(into, from, nodes() * sizeof(Scalar), cudaMemcpyDeviceToDevice, stream()),
                    "copy a state");
      }
    }
  }

  double difference() override {
    const cuda::device_scope scope(group_[0].device);
    cuda::check(cudaMemsetAsync(&state_.data()->difference, 0, sizeof(split_state::difference), stream()),
                "clear device memory");
    find_difference<Scalar>(whole_.v.data(), halves_.v.data(), nodes(), state_.data(), stream());
    find_difference<Scalar>(whole_.w.data(), halves_.w.data(), nodes(), state_.data(), stream());
    return std::bit_cast<double>(look().difference);
  }

  void accept_halves(state<Scalar>&) override { std::swap(now_, halves_); }

  std::size_t rows_, columns_;
  double accuracy_;
  cuda::device_group group_;
  device_lines<Scalar> along_rows_, along_columns_, w_along_rows_, w_along_columns_;
  pair now_, whole_, halves_;
  cuda::device_buffer<Scalar> solution_, turned_;
  cuda::device_buffer<split_state> state_;
  unsigned long long counted_ = 0;  // iterations that were added up
  bool loaded_ = false;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_split_steps(const problem& wave, const split_rule& rule, int device) {
  return std::make_unique<device_split_steps<Scalar>>(wave, rule, device);
}

template std::unique_ptr<stepper<double>> make_device_split_steps<double>(const problem&, const split_rule&, int);
template std::unique_ptr<stepper<float>> make_device_split_steps<float>(const problem&, const split_rule&, int);

}  // namespace shoal::reaction_diffusion
