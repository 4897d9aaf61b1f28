#include <shoal/reaction_diffusion/split_steps.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <shoal/reaction_diffusion/add_noise.hpp>
#include <shoal/reaction_diffusion/diffusion_lines.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>
#include <shoal/reaction_diffusion/split_control.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t lines_at_once = 16;                  // that are swept side by side
constexpr std::size_t range_nodes = std::size_t{1} << 12;  // of the reaction, that one thread takes at a time

template <class Scalar>
class split_steps final : public split_control<Scalar> {
 public:
  split_steps(const problem& wave, const split_rule& rule, executor& executor)
      : split_control<Scalar>(wave, rule),
        executor_(executor),
        rows_(wave.grid.rows),
        columns_(wave.grid.columns),
        reaction_(wave, rule.step > 0 ? rule.accuracy : std::max(rule.accuracy, 1e-3 * rule.tolerance)),
        along_rows_v_(wave.fields.diffusion.empty()
                          ? diffusion_lines<Scalar>(columns_, ends())
                          : diffusion_lines<Scalar>(columns_, ends(), rows_, wave.fields.diffusion, 1, columns_)),
        along_rows_w_(columns_, ends()),
        along_columns_v_(wave.fields.diffusion.empty() || !wave.in_plane()
                             ? diffusion_lines<Scalar>(rows_, wave.coupling ? line_ends::open : ends())
                             : diffusion_lines<Scalar>(rows_, ends(), columns_, wave.fields.diffusion, columns_, 1)),
        along_columns_w_(rows_, ends()) {
    const std::size_t nodes = rows_ * columns_;
    for (pair* part : {&whole_, &halves_}) {
      part->v.grow(nodes);
      part->w.grow(nodes);
    }
    if (wave.has_noise()) noise_.grow(nodes);
    rooms_.resize(executor.threads());
  }

 private:
  using typename split_control<Scalar>::copy;
  using typename split_control<Scalar>::component;
  struct pair {
    aligned_buffer<Scalar> v, w;
  };

  line_ends ends() const { return this->wave().boundary == boundary::periodic ? line_ends::around : line_ends::mirror; }

  Scalar* values(component which, copy of, state<Scalar>& now) {
    const bool of_v = which == component::v;
    if (of == copy::now) return of_v ? now.v.data() : now.w.data();
    pair& part = of == copy::whole ? whole_ : halves_;
    return of_v ? part.v.data() : part.w.data();
  }

  void copy_now(const state<Scalar>& now) override {
    for (pair* part : {&whole_, &halves_}) {
      std::copy_n(now.v.data(), rows_ * columns_, part->v.data());
      std::copy_n(now.w.data(), rows_ * columns_, part->w.data());
    }
  }

  double difference() override {
    double largest = 0;
    for (std::size_t i = 0; i < rows_ * columns_; ++i) {
      largest = std::max({largest, std::abs(static_cast<double>(whole_.v[i] - halves_.v[i])),
                          std::abs(static_cast<double>(whole_.w[i] - halves_.w[i]))});
    }
    return largest;
  }

  void accept_halves(state<Scalar>& now) override {
    std::swap(now.v, halves_.v);
    std::swap(now.w, halves_.w);
  }

  void draw_noise(const state<Scalar>& now, double step) override {
    for_each_range([&](std::size_t first, std::size_t end) {
      std::fill(noise_.data() + first, noise_.data() + end, Scalar(0));
      add_noise(this->wave(), {this->noisy_steps(), step}, now.v.data(), first, end, noise_.data());
    });
  }
  void add_half_of_noise(state<Scalar>& now) override {
    for_each_range([&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i) now.v[i] += noise_[i] / 2;
    });
  }

  void for_each_range(const std::function<void(std::size_t first, std::size_t end)>& work) {
    const std::size_t nodes = rows_ * columns_;
    executor_.run((nodes + range_nodes - 1) / range_nodes, 1, [&](std::size_t range, const team_member&) {
      work(range * range_nodes, std::min(nodes, (range + 1) * range_nodes));
    });
  }

  void react(part_rule rule, double step, double time, copy of, state<Scalar>& now) override {
    Scalar* const v = values(component::v, of, now);
    Scalar* const w = values(component::w, of, now);
    taken_.assign((rows_ * columns_ + range_nodes - 1) / range_nodes, 0);
    for_each_range([&](std::size_t first, std::size_t end) {
      taken_[first / range_nodes] = reaction_.step(rule, step, first, end, v, w);
    });
    if (*std::min_element(taken_.begin(), taken_.end()) == 0) this->refuse_time(time);
    this->count_iterations(*std::max_element(taken_.begin(), taken_.end()));
  }

  // u ← the rule's approximation of e^{weight·L}·u on lines side by side. (I − κL)⁻¹(I + κL) = 2(I − κL)⁻¹ − I.
  void spread(const diffusion_lines<Scalar>& lines, part_rule rule, Scalar* u, std::size_t first, std::size_t count,
              std::size_t stride, std::vector<Scalar>& begin) const {
    if (rule == part_rule::backward_euler) return lines.solve(u, first, count, stride);
    begin.resize(lines.nodes() * count);
    const auto for_each = [&](const auto& set) {
      for (std::size_t i = 0; i < lines.nodes(); ++i) {
        for (std::size_t k = 0; k < count; ++k) set(u[i * stride + k], begin[i * count + k]);
      }
    };
    for_each([](Scalar& here, Scalar& before) { before = here; });
    lines.solve(u, first, count, stride);
    for_each([](Scalar& here, Scalar& before) { here = 2 * here - before; });
    if (rule == part_rule::trapezoid) return;
    const auto c1 = static_cast<Scalar>(tr_bdf2_weights::from_middle),
               c2 = static_cast<Scalar>(tr_bdf2_weights::from_begin);
    for_each([&](Scalar& here, Scalar& before) { here = c1 * here - c2 * before; });
    lines.solve(u, first, count, stride);
  }

  void sweep_columns(part_rule rule, double weight, component which, copy of, state<Scalar>& now) override {
    diffusion_lines<Scalar>& lines = which == component::v ? along_columns_v_ : along_columns_w_;
    Scalar* const u = values(which, of, now);
    lines.prepare(weight * share_of(rule));
    executor_.run((columns_ + lines_at_once - 1) / lines_at_once, 1, [&](std::size_t part, const team_member& member) {
      const std::size_t first = part * lines_at_once, count = std::min(lines_at_once, columns_ - first);
      spread(lines, rule, u + first, first, count, columns_, rooms_[member.team()].begin);
    });
  }

  // Rows are turned over first, so that several lie side by side.
  void sweep_rows(part_rule rule, double weight, component which, copy of, state<Scalar>& now) override {
    diffusion_lines<Scalar>& lines = which == component::v ? along_rows_v_ : along_rows_w_;
    Scalar* const u = values(which, of, now);
    lines.prepare(weight * share_of(rule));
    executor_.run((rows_ + lines_at_once - 1) / lines_at_once, 1, [&](std::size_t part, const team_member& member) {
      const std::size_t first = part * lines_at_once, count = std::min(lines_at_once, rows_ - first);
      room& own = rooms_[member.team()];
      own.turned.resize(columns_ * count);
      for (std::size_t k = 0; k < count; ++k) {
        const Scalar* row = u + (first + k) * columns_;
        for (std::size_t j = 0; j < columns_; ++j) own.turned[j * count + k] = row[j];
      }
      spread(lines, rule, own.turned.data(), first, count, count, own.begin);
      for (std::size_t k = 0; k < count; ++k) {
        Scalar* row = u + (first + k) * columns_;
        for (std::size_t j = 0; j < columns_; ++j) row[j] = own.turned[j * count + k];
      }
    });
  }

  struct room {
    std::vector<Scalar> turned, begin;
  };

  executor& executor_;
  std::size_t rows_, columns_;
  node_reaction<Scalar> reaction_;
  diffusion_lines<Scalar> along_rows_v_, along_rows_w_, along_columns_v_, along_columns_w_;
  pair whole_, halves_;
  aligned_buffer<Scalar> noise_;  // of the present step
  std::vector<room> rooms_;
  std::vector<std::size_t> taken_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_split_steps(const problem& wave, const split_rule& rule, executor& executor) {
  return std::make_unique<split_steps<Scalar>>(wave, rule, executor);
}

template std::unique_ptr<stepper<double>> make_split_steps<double>(const problem&, const split_rule&, executor&);
template std::unique_ptr<stepper<float>> make_split_steps<float>(const problem&, const split_rule&, executor&);

}  // namespace shoal::reaction_diffusion
