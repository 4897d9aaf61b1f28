#include <shoal/reaction_diffusion/cuda/split_steps.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
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

// diffusion_lines whose elimination lies on every device.
template <class Scalar>
class device_lines {
 public:
  device_lines(std::size_t nodes, line_ends ends, line_way way, std::size_t parts)
      : lines_(nodes, ends), layout_(layout_of<Scalar>(nodes, way)), weights_(parts, -1), there_(parts) {}

  bool in_one_segment() const { return layout_.segments == 1; }

  /// For the part whose device is current.
  line_coefficients<Scalar> prepared(double weight, std::size_t part, cudaStream_t stream) {
    const std::size_t count = layout_.values();
    if (weight != arranged_weight_) arrange(weight);
    if (weight != weights_[part]) there_[part].upload(arranged_, stream);
    weights_[part] = weight;
    const Scalar* const first = there_[part].data();
    return {first,
            first + count,
            first + 2 * count,
            lines_.correction().empty() ? nullptr : first + 3 * count,
            lines_.corner_share(),
            lines_.corner_scale()};
  }

 private:
  void arrange(double weight) {
    arranged_weight_ = weight;
    lines_.prepare(weight);
    const std::size_t count = layout_.values();
    const bool around = !lines_.correction().empty();
    arranged_.assign((around ? 4 : 3) * count, Scalar(0));
    for (std::size_t i = 0; i < lines_.nodes(); ++i) {
      Scalar* const to = arranged_.data() + layout_.place_of(i);
      to[0] = lines_.inverse()[i];
      if (i > 0) to[count] = -lines_.lower()[i] * lines_.inverse()[i];
      if (i + 1 < lines_.nodes()) to[2 * count] = -lines_.upper()[i];
      if (around) to[3 * count] = lines_.correction()[i];
    }
  }

  diffusion_lines<Scalar> lines_;
  line_layout layout_;
  double arranged_weight_ = -1;
  std::vector<Scalar> arranged_;
  std::vector<double> weights_;  // that each part has
  std::vector<cuda::device_buffer<Scalar>> there_;
};

// Parts of the reaction between two looks at the devices, at most.
constexpr std::size_t most_counts = 4096;

// Each GPU has whole rows; for the columns it takes some of them from all others, and gives them back.
template <class Scalar>
class device_split_steps final : public split_control<Scalar> {
 public:
  device_split_steps(const problem& wave, const split_rule& rule, std::span<const int> devices)
      : split_control<Scalar>(wave, rule),
        rows_(wave.grid.rows),
        columns_(wave.grid.columns),
        accuracy_(rule.step > 0 ? rule.accuracy : std::max(rule.accuracy, 1e-3 * rule.tolerance)),
        group_(devices.first(std::min({devices.size(), rows_, columns_}))),
        parts_(group_.size()),
        along_rows_(columns_, ends(), line_way::along_rows, parts_.size()),
        along_columns_(rows_, ends(), line_way::along_columns, parts_.size()),
        w_along_rows_(columns_, ends(), line_way::along_rows, parts_.size()),
        w_along_columns_(rows_, ends(), line_way::along_columns, parts_.size()) {
    const bool in_segments = !along_rows_.in_one_segment() || !along_columns_.in_one_segment();
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      const auto cut = [&](std::size_t lines, std::size_t at) { return lines * at / parts_.size(); };
      own.first = cut(rows_, i);
      own.rows = cut(rows_, i + 1) - own.first;
      own.first_column = cut(columns_, i);
      own.columns = cut(columns_, i + 1) - own.first_column;
      for (pair* values : {&own.now, &own.whole, &own.halves}) {
        if (values != &own.now && rule.step > 0) continue;
        values->v.grow(own.rows * columns_);
        values->w.grow(own.rows * columns_);
      }
      if (parts_.size() > 1) own.turned.grow(rows_ * own.columns);
      if (in_segments) own.room.grow(std::max(own.rows * columns_, rows_ * own.columns));
      own.counts.grow(most_counts);
      own.state.grow(1);
      own.state.fill_with_zeros(stream);
    });
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
    each([&](std::size_t i, cudaStream_t stream) {
      const part& own = parts_[i];
      copy_values(own.now.v.data(), now.values_of_v() + own.first * columns_, own.rows * columns_, stream);
      copy_values(own.now.w.data(), now.values_of_w() + own.first * columns_, own.rows * columns_, stream);
    });
    group_.synchronize();
  }

 private:
  using typename split_control<Scalar>::copy;
  using typename split_control<Scalar>::component;
  struct pair {
    cuda::device_buffer<Scalar> v, w;
  };
  // Rows [first, first + rows), and the columns that it takes of all rows.
  struct part {
    std::size_t first, rows, first_column, columns;
    pair now, whole, halves;
    cuda::device_buffer<Scalar> turned;  // those columns, of all rows
    cuda::device_buffer<Scalar> room;    // for lines of several segments
    cuda::device_buffer<unsigned> counts;
    cuda::device_buffer<split_state> state;
    cuda::event lent, swept, taken;

    Scalar* values(copy of, component which) {
      pair& all = of == copy::now ? now : of == copy::whole ? whole : halves;
      return which == component::v ? all.v.data() : all.w.data();
    }
  };

  template <class Work>
  void each(const Work& work) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const cuda::device_scope scope(group_[i].device);
      work(i, group_[i].compute);
    }
  }
  static void copy_values(const Scalar* from, Scalar* to, std::size_t count, cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(to, from, count * sizeof(Scalar), cudaMemcpyDefault, stream), "copy a state");
  }
  line_ends ends() const { return this->wave().boundary == boundary::periodic ? line_ends::around : line_ends::mirror; }

  void begin(state<Scalar>& now) override {
    if (loaded_) return;
    loaded_ = true;
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      copy_values(now.values_of_v() + own.first * columns_, own.now.v.data(), own.rows * columns_, stream);
      copy_values(now.values_of_w() + own.first * columns_, own.now.w.data(), own.rows * columns_, stream);
    });
    group_.synchronize();
  }
  void end(state<Scalar>&) override { look(); }

  // Waits for the GPUs. Returns the bits of the largest difference.
  unsigned long long look() {
    std::vector<unsigned> most(counted_, 0);
    unsigned long long difference = 0;
    double failed_at = std::numeric_limits<double>::infinity();
    each([&](std::size_t i, cudaStream_t stream) {
      const split_state found = parts_[i].state.download(1, stream).front();
      if (found.failed != 0) failed_at = std::min(failed_at, found.failed_at);
      difference = std::max(difference, found.difference);
      const std::vector<unsigned> counts = parts_[i].counts.download(counted_, stream);
      for (std::size_t k = 0; k < counted_; ++k) most[k] = std::max(most[k], counts[k]);
    });
    counted_ = 0;
    if (std::isfinite(failed_at)) this->refuse_time(failed_at);
    this->count_iterations(std::accumulate(most.begin(), most.end(), std::size_t{0}));
    return difference;
  }

  void react(part_rule rule, double step, double time, copy of, state<Scalar>&) override {
    if (counted_ == most_counts) look();
    const parameters& with = this->wave().parameters;
    const auto narrow = [](double value) { return static_cast<Scalar>(value); };
    const reaction_step<Scalar> by{
        narrow(with.a), narrow(with.gamma), narrow(with.epsilon), narrow(accuracy_), narrow(step), rule, time};
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      reaction_diffusion::react<Scalar>({own.values(of, component::v), own.values(of, component::w)},
                                        own.rows * columns_, by, own.state.data(), own.counts.data() + counted_,
                                        stream);
    });
    ++counted_;
  }

  void sweep_rows(part_rule rule, double weight, component which, copy of, state<Scalar>&) override {
    device_lines<Scalar>& lines = which == component::v ? along_rows_ : w_along_rows_;
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      sweep_lines<Scalar>(line_way::along_rows, rule, own.values(of, which), own.room.data(), own.rows, columns_,
                          lines.prepared(weight * share_of(rule), i, stream), stream);
    });
  }

  void sweep_columns(part_rule rule, double weight, component which, copy of, state<Scalar>&) override {
    device_lines<Scalar>& lines = which == component::v ? along_columns_ : w_along_columns_;
    const bool alone = parts_.size() == 1;
    if (!alone) lend_columns(which, of);
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      Scalar* const u = alone ? own.values(of, which) : own.turned.data();
      sweep_lines<Scalar>(line_way::along_columns, rule, u, own.room.data(), rows_, own.columns,
                          lines.prepared(weight * share_of(rule), i, stream), stream);
    });
    if (!alone) give_columns_back(which, of);
  }

  // Each takes its columns of the others' rows.
  void lend_columns(component which, copy of) {
    each([&](std::size_t i, cudaStream_t stream) { parts_[i].lent.record(stream); });
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      for (part& other : parts_) {
        other.lent.hold(stream);
        other.taken.hold(stream);  // of the columns before
        copy_rectangle(other.values(of, which) + own.first_column, columns_,
                       own.turned.data() + other.first * own.columns, own.columns, own.columns, other.rows, stream);
      }
    });
  }
  // And each its rows of the others' columns.
  void give_columns_back(component which, copy of) {
    each([&](std::size_t i, cudaStream_t stream) { parts_[i].swept.record(stream); });
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      for (part& other : parts_) {
        other.swept.hold(stream);
        copy_rectangle(other.turned.data() + own.first * other.columns, other.columns,
                       own.values(of, which) + other.first_column, columns_, other.columns, own.rows, stream);
      }
      own.taken.record(stream);
    });
  }
  static void copy_rectangle(const Scalar* from, std::size_t from_pitch, Scalar* to, std::size_t to_pitch,
                             std::size_t columns, std::size_t rows, cudaStream_t stream) {
    cuda::check(cudaMemcpy2DAsync(to, to_pitch * sizeof(Scalar), from, from_pitch * sizeof(Scalar),
                                  columns * sizeof(Scalar), rows, cudaMemcpyDefault, stream),
                "copy between GPUs");
  }

  void copy_now(const state<Scalar>&) override {
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      for (const copy to : {copy::whole, copy::halves}) {
        for (const component which : {component::v, component::w}) {
          copy_values(own.values(copy::now, which), own.values(to, which), own.rows * columns_, stream);
        }
      }
    });
  }

  double difference() override {
    each([&](std::size_t i, cudaStream_t stream) {
      part& own = parts_[i];
      cuda::check(cudaMemsetAsync(&own.state.data()->difference, 0, sizeof(split_state::difference), stream),
                  "clear device memory");
      for (const component which : {component::v, component::w}) {
        find_difference<Scalar>(own.values(copy::whole, which), own.values(copy::halves, which), own.rows * columns_,
                                own.state.data(), stream);
      }
    });
    return std::bit_cast<double>(look());
  }

  void accept_halves(state<Scalar>&) override {
    for (part& own : parts_) std::swap(own.now, own.halves);
  }

  std::size_t rows_, columns_;
  double accuracy_;
  cuda::device_group group_;
  std::vector<part> parts_;
  device_lines<Scalar> along_rows_, along_columns_, w_along_rows_, w_along_columns_;
  std::size_t counted_ = 0;  // parts of the reaction since the last look
  bool loaded_ = false;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_device_split_steps(const problem& wave, const split_rule& rule,
                                                         std::span<const int> devices) {
  return std::make_unique<device_split_steps<Scalar>>(wave, rule, devices);
}

template std::unique_ptr<stepper<double>> make_device_split_steps<double>(const problem&, const split_rule&,
                                                                          std::span<const int>);
template std::unique_ptr<stepper<float>> make_device_split_steps<float>(const problem&, const split_rule&,
                                                                        std::span<const int>);

}  // namespace shoal::reaction_diffusion
