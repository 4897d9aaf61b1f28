#include <shoal/reaction_diffusion/split_steps.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/diffusion_lines.hpp>
#include <shoal/reaction_diffusion/node_reaction.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t damped_steps = 2;
constexpr std::size_t lines_at_once = 16;                  // that are swept side by side
constexpr std::size_t range_nodes = std::size_t{1} << 12;  // of the reaction, that one thread takes at a time

template <class Scalar>
class split_steps final : public stepper<Scalar> {
 public:
  split_steps(const problem& wave, const split_rule& rule, executor& executor)
      : wave_(wave),
        rule_(rule),
        executor_(executor),
        rows_(wave.grid.rows),
        columns_(wave.grid.columns),
        reaction_(wave, rule.step > 0 ? rule.accuracy : std::max(rule.accuracy, 1e-3 * rule.tolerance)),
        along_rows_v_(columns_, ends()),
        along_rows_w_(columns_, ends()),
        along_columns_v_(rows_, wave.coupling ? line_ends::open : ends()),
        along_columns_w_(rows_, ends()) {
    const std::size_t nodes = rows_ * columns_;
    for (pair* part : {&whole_, &halves_}) {
      part->v.grow(nodes);
      part->w.grow(nodes);
    }
    rooms_.resize(executor.threads());
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    return rule_.step > 0 ? advance_fixed(now, over, most) : advance_by_tolerance(now, over, most);
  }

  std::vector<double> memory() const override {
    return {next_, static_cast<double>(damped_), static_cast<double>(refused_), static_cast<double>(iterations_)};
  }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, 4);
    if (kept[0] < 0) throw foreign_memory();
    next_ = kept[0];
    damped_ = count_in(kept[1]);
    refused_ = count_in(kept[2]);
    iterations_ = count_in(kept[3]);
  }

  std::size_t refused_steps() const override { return refused_; }
  std::size_t newton_iterations() const override { return iterations_; }

 private:
  struct pair {
    aligned_buffer<Scalar> v, w;
  };

  line_ends ends() const { return wave_.boundary == boundary::periodic ? line_ends::around : line_ends::mirror; }

  std::size_t advance_fixed(state<Scalar>& now, const span& over, std::size_t most) {
    const std::size_t steps = over.steps_of(rule_.step), begin = now.done, end = std::min(steps, begin + most);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    while (now.done < end) {
      if (!rule_.by_tr_bdf2 && damped_ < damped_steps) {
        take_step(part_rule::backward_euler, step / 2, now.time, now.v.data(), now.w.data());
        take_step(part_rule::backward_euler, step / 2, now.time, now.v.data(), now.w.data());
        ++damped_;
      } else {
        take_step(sound_rule(), step, now.time, now.v.data(), now.w.data());
      }
      ++now.done;
      now.time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
    }
    return end - begin;
  }

  // One step and two of half its length: a third of their difference is the error of the two, which are kept.
  std::size_t advance_by_tolerance(state<Scalar>& now, const span& over, std::size_t most) {
    std::size_t taken = 0;
    if (next_ == 0) next_ = std::min(0.01, over.end - now.time);
    const std::size_t nodes = rows_ * columns_;
    while (taken < most && now.time < over.end) {
      const double left = over.end - now.time;
      const double step = next_ >= left ? left : next_ > left / 2 ? left / 2 : next_;
      for (pair* part : {&whole_, &halves_}) {
        std::copy_n(now.v.data(), nodes, part->v.data());
        std::copy_n(now.w.data(), nodes, part->w.data());
      }
      take_step(sound_rule(), step, now.time, whole_.v.data(), whole_.w.data());
      take_step(sound_rule(), step / 2, now.time, halves_.v.data(), halves_.w.data());
      take_step(sound_rule(), step / 2, now.time, halves_.v.data(), halves_.w.data());
      double error = 0;
      for (std::size_t i = 0; i < nodes; ++i) {
        error = std::max({error, std::abs(static_cast<double>(whole_.v[i] - halves_.v[i])),
                          std::abs(static_cast<double>(whole_.w[i] - halves_.w[i]))});
      }
      error /= 3 * rule_.tolerance;
      const double factor = std::clamp(0.9 / std::cbrt(error), 0.2, 4.0);
      if (error <= 1) {
        std::swap(now.v, halves_.v);
        std::swap(now.w, halves_.w);
        now.time = step == left ? over.end : now.time + step;
        ++taken;
        // A step that a state cut short says little about the next.
        next_ = step < next_ ? std::max(next_, step * factor) : step * factor;
        continue;
      }
      ++refused_;
      next_ = step * factor;
      if (next_ < 1e-12 * std::max(1.0, now.time)) {
        throw numerical_error(
            fmt::format("TR-BDF2 cannot reach tolerance {} at time {}: its step fell to {}; give a larger tolerance",
                        rule_.tolerance, now.time, next_));
      }
    }
    return taken;
  }

  part_rule sound_rule() const { return rule_.by_tr_bdf2 ? part_rule::tr_bdf2 : part_rule::trapezoid; }

  void take_step(part_rule rule, double step, double time, Scalar* v, Scalar* w) {
    react(rule, step / 2, time, v, w);
    const parameters& of = wave_.parameters;
    const double per_square = 1 / (wave_.grid.spacing * wave_.grid.spacing);
    const auto across = [&](diffusion_lines<Scalar>& lines, double weight, Scalar* u) {
      if (weight > 0) sweep_rows(lines, rule, weight * step, u);
    };
    const auto down = [&](diffusion_lines<Scalar>& lines, double weight, Scalar* u) {
      if (weight > 0 && rows_ > 1) sweep_columns(lines, rule, weight * step, u);
    };
    across(along_rows_v_, of.diffusion * per_square, v);
    across(along_rows_w_, of.recovery_diffusion * per_square, w);
    down(along_columns_v_, wave_.coupling ? *wave_.coupling : of.diffusion * per_square, v);
    if (!wave_.coupling) down(along_columns_w_, of.recovery_diffusion * per_square, w);
    react(rule, step / 2, time, v, w);
  }

  void react(part_rule rule, double step, double time, Scalar* v, Scalar* w) {
    const std::size_t nodes = rows_ * columns_, ranges = (nodes + range_nodes - 1) / range_nodes;
    taken_.assign(ranges, 0);
    executor_.run(ranges, 1, [&](std::size_t range, const team_member&) {
      const std::size_t first = range * range_nodes;
      taken_[range] = reaction_.step(rule, step, first, std::min(nodes, first + range_nodes), v, w);
    });
    if (*std::min_element(taken_.begin(), taken_.end()) == 0) {
      throw numerical_error(
          fmt::format("Newton's method did not converge in 40 iterations at time {}; give a shorter step", time));
    }
    iterations_ += *std::max_element(taken_.begin(), taken_.end());
  }

  // u ← the rule's approximation of e^{weight·L}·u on lines side by side. (I − κL)⁻¹(I + κL) = 2(I − κL)⁻¹ − I.
  void spread(const diffusion_lines<Scalar>& lines, part_rule rule, Scalar* u, std::size_t count, std::size_t stride,
              std::vector<Scalar>& begin) const {
    if (rule == part_rule::backward_euler) return lines.solve(u, count, stride);
    begin.resize(lines.nodes() * count);
    const auto for_each = [&](const auto& set) {
      for (std::size_t i = 0; i < lines.nodes(); ++i) {
        for (std::size_t k = 0; k < count; ++k) set(u[i * stride + k], begin[i * count + k]);
      }
    };
    for_each([](Scalar& here, Scalar& before) { before = here; });
    lines.solve(u, count, stride);
    for_each([](Scalar& here, Scalar& before) { here = 2 * here - before; });
    if (rule == part_rule::trapezoid) return;
    const auto c1 = static_cast<Scalar>(tr_bdf2_weights::from_middle),
               c2 = static_cast<Scalar>(tr_bdf2_weights::from_begin);
    for_each([&](Scalar& here, Scalar& before) { here = c1 * here - c2 * before; });
    lines.solve(u, count, stride);
  }

  static double share_of(part_rule rule) {
    return rule == part_rule::backward_euler ? 1 : rule == part_rule::trapezoid ? 0.5 : tr_bdf2_weights::share / 2;
  }

  void sweep_columns(diffusion_lines<Scalar>& lines, part_rule rule, double weight, Scalar* u) {
    lines.prepare(weight * share_of(rule));
    executor_.run((columns_ + lines_at_once - 1) / lines_at_once, 1, [&](std::size_t part, const team_member& member) {
      const std::size_t first = part * lines_at_once, count = std::min(lines_at_once, columns_ - first);
      spread(lines, rule, u + first, count, columns_, rooms_[member.team()].begin);
    });
  }

  // Rows are turned over first, so that several lie side by side.
  void sweep_rows(diffusion_lines<Scalar>& lines, part_rule rule, double weight, Scalar* u) {
    lines.prepare(weight * share_of(rule));
    executor_.run((rows_ + lines_at_once - 1) / lines_at_once, 1, [&](std::size_t part, const team_member& member) {
      const std::size_t first = part * lines_at_once, count = std::min(lines_at_once, rows_ - first);
      room& own = rooms_[member.team()];
      own.turned.resize(columns_ * count);
      for (std::size_t k = 0; k < count; ++k) {
        const Scalar* row = u + (first + k) * columns_;
        for (std::size_t j = 0; j < columns_; ++j) own.turned[j * count + k] = row[j];
      }
      spread(lines, rule, own.turned.data(), count, count, own.begin);
      for (std::size_t k = 0; k < count; ++k) {
        Scalar* row = u + (first + k) * columns_;
        for (std::size_t j = 0; j < columns_; ++j) row[j] = own.turned[j * count + k];
      }
    });
  }

  struct room {
    std::vector<Scalar> turned, begin;
  };

  problem wave_;
  split_rule rule_;
  executor& executor_;
  std::size_t rows_, columns_;
  node_reaction<Scalar> reaction_;
  diffusion_lines<Scalar> along_rows_v_, along_rows_w_, along_columns_v_, along_columns_w_;
  pair whole_, halves_;
  std::vector<room> rooms_;
  std::vector<std::size_t> taken_;
  double next_ = 0;  // the step that the error allows; 0 before the first
  std::size_t damped_ = 0;
  std::size_t refused_ = 0;
  std::size_t iterations_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_split_steps(const problem& wave, const split_rule& rule, executor& executor) {
  return std::make_unique<split_steps<Scalar>>(wave, rule, executor);
}

template std::unique_ptr<stepper<double>> make_split_steps<double>(const problem&, const split_rule&, executor&);
template std::unique_ptr<stepper<float>> make_split_steps<float>(const problem&, const split_rule&, executor&);

}  // namespace shoal::reaction_diffusion
