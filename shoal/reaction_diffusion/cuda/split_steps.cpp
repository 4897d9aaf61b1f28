#include <shoal/reaction_diffusion/cuda/split_steps.hpp>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/reaction_diffusion/cuda/device_axon.hpp>
#include <shoal/reaction_diffusion/cuda/line_kernels.hpp>
#include <shoal/reaction_diffusion/cuda/split_kernels.hpp>
#include <shoal/reaction_diffusion/diffusion_lines.hpp>
#include <shoal/reaction_diffusion/split_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

// diffusion_lines whose elimination lies on the device.
template <class Scalar>
class device_lines {
 public:
  device_lines(std::size_t nodes, line_ends ends, line_way way)
      : lines_(nodes, ends), layout_(layout_of<Scalar>(nodes, way)) {}

  bool in_one_segment() const { return layout_.segments == 1; }

  line_coefficients<Scalar> prepared(double weight, cudaStream_t stream) {
    const std::size_t count = layout_.values();
    if (weight != weight_) {
      weight_ = weight;
      lines_.prepare(weight);
      const bool around = !lines_.correction().empty();
      arranged_.assign((around ? 4 : 3) * count, Scalar(0));
      for (std::size_t i = 0; i < lines_.nodes(); ++i) {
        Scalar* const to = arranged_.data() + layout_.place_of(i);
        to[0] = lines_.inverse()[i];
        if (i > 0) to[count] = -lines_.lower()[i] * lines_.inverse()[i];
        if (i + 1 < lines_.nodes()) to[2 * count] = -lines_.upper()[i];
        if (around) to[3 * count] = lines_.correction()[i];
      }
      there_.upload(arranged_, stream);
    }
    const Scalar* const first = there_.data();
    return {first,
            first + count,
            first + 2 * count,
            lines_.correction().empty() ? nullptr : first + 3 * count,
            lines_.corner_share(),
            lines_.corner_scale()};
  }

 private:
  diffusion_lines<Scalar> lines_;
  line_layout layout_;
  double weight_ = -1;
  std::vector<Scalar> arranged_;
  cuda::device_buffer<Scalar> there_;
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
        along_rows_(columns_, ends(), line_way::along_rows),
        along_columns_(rows_, ends(), line_way::along_columns),
        w_along_rows_(columns_, ends(), line_way::along_rows),
        w_along_columns_(rows_, ends(), line_way::along_columns) {
    const cuda::device_scope scope(device);
    for (pair* part : {&now_, &whole_, &halves_}) {
      if (part != &now_ && rule.step > 0) continue;
      part->v.grow(nodes());
      part->w.grow(nodes());
    }
    if (!along_rows_.in_one_segment() || !along_columns_.in_one_segment()) room_.grow(nodes());
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
    for (const auto& [from, to] :
         {std::pair{now_.v.data(), now.values_of_v()}, std::pair{now_.w.data(), now.values_of_w()}}) {
      cuda::check(cudaMemcpyAsync(to, from, nodes() * sizeof(Scalar), cudaMemcpyDefault, stream()),
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
    for (const auto& [from, to] : {std::pair{std::as_const(now).values_of_v(), now_.v.data()},
                                   std::pair{std::as_const(now).values_of_w(), now_.w.data()}}) {
      cuda::check(cudaMemcpyAsync(to, from, nodes() * sizeof(Scalar), cudaMemcpyDefault, stream()),
                  "copy a state to the device");
    }
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
    sweep(line_way::along_rows, which == component::v ? along_rows_ : w_along_rows_, rule, weight, which, of);
  }
  void sweep_columns(part_rule rule, double weight, component which, copy of, state<Scalar>&) override {
    sweep(line_way::along_columns, which == component::v ? along_columns_ : w_along_columns_, rule, weight, which, of);
  }
  void sweep(line_way way, device_lines<Scalar>& lines, part_rule rule, double weight, component which, copy of) {
    const cuda::device_scope scope(group_[0].device);
    Scalar* const u = which == component::v ? part(of).v.data() : part(of).w.data();
    sweep_lines<Scalar>(way, rule, u, room_.data(), rows_, columns_, lines.prepared(weight * share_of(rule), stream()),
                        stream());
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
  cuda::device_buffer<Scalar> room_;  // for lines of several segments
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
