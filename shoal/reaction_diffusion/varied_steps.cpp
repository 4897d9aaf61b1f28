#include <shoal/reaction_diffusion/varied_steps.hpp>

#include <algorithm>
#include <vector>

#include <shoal/reaction_diffusion/add_noise.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t range_nodes = std::size_t{1} << 12;  // of a row, that one thread takes at a time

template <class Scalar>
class varied_steps final : public stepper<Scalar> {
 public:
  varied_steps(const problem& wave, double step, executor& executor)
      : wave_(wave), step_(step), executor_(executor), rows_(wave.grid.rows), columns_(wave.grid.columns) {
    const parameters& of = wave.parameters;
    fill(a_, wave.fields.a, of.a);
    fill(gamma_, wave.fields.gamma, of.gamma);
    fill(epsilon_, wave.fields.epsilon, of.epsilon);
    fill(diffusion_, wave.fields.diffusion, of.diffusion);
    next_v_.grow(rows_ * columns_);
    next_w_.grow(rows_ * columns_);
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_), begin = now.done, end = std::min(steps, begin + most);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t ranges = (columns_ + range_nodes - 1) / range_nodes;
    while (now.done < end) {
      executor_.run(rows_ * ranges, 1, [&](std::size_t task, const team_member&) {
        const std::size_t first = task % ranges * range_nodes;
        step_range(now, step, task / ranges, first, std::min(columns_, first + range_nodes));
      });
      std::swap(now.v, next_v_);
      std::swap(now.w, next_w_);
      ++taken_;
      ++now.done;
      now.time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
      if (!wave_.has_input()) continue;
      for (std::size_t row = 1; row <= rows_; ++row) {
        now.v[row * columns_ - 1] = static_cast<Scalar>(wave_.input_at(now.time));
      }
    }
    return end - begin;
  }

  std::vector<double> memory() const override { return {static_cast<double>(taken_)}; }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, 1);
    taken_ = count_in(kept[0]);
  }

 private:
  void fill(std::vector<Scalar>& to, const std::vector<double>& field, double everywhere) const {
    to.assign(rows_ * columns_, static_cast<Scalar>(everywhere));
    std::transform(field.begin(), field.end(), to.begin(), [](double value) { return static_cast<Scalar>(value); });
  }

  // The neighbour before or behind place i of n, where a wall mirrors and a period goes around.
  std::size_t before(std::size_t i, std::size_t n) const {
    return i > 0 ? i - 1 : wave_.boundary == boundary::periodic ? n - 1 : 1;
  }
  std::size_t behind(std::size_t i, std::size_t n) const {
    return i + 1 < n ? i + 1 : wave_.boundary == boundary::periodic ? 0 : n - 2;
  }

  void step_range(const state<Scalar>& now, double step, std::size_t row, std::size_t first, std::size_t end) {
    const std::size_t at = row * columns_;
    const auto h = static_cast<Scalar>(step);
    const auto per_square = static_cast<Scalar>(1 / (wave_.grid.spacing * wave_.grid.spacing));
    const auto recovery = static_cast<Scalar>(wave_.parameters.recovery_diffusion) * per_square;
    const Scalar* v = now.v.data();
    const Scalar* w = now.w.data();
    // D·(v_left − 2v + v_right) with D between the nodes, and the same of w.
    const auto flow = [&](std::size_t i, std::size_t one, std::size_t other) {
      const Scalar half = per_square / 2;
      return half * ((diffusion_[i] + diffusion_[one]) * (v[one] - v[i]) +
                     (diffusion_[i] + diffusion_[other]) * (v[other] - v[i]));
    };
    const auto recovery_flow = [&](std::size_t i, std::size_t one, std::size_t other) {
      return recovery * ((w[one] - w[i]) + (w[other] - w[i]));
    };
    const auto coupling = static_cast<Scalar>(wave_.coupling.value_or(0));
    const std::size_t above = before(row, rows_) * columns_, below = behind(row, rows_) * columns_;
    const bool plane = wave_.in_plane();
    for (std::size_t j = first; j < end; ++j) {
      const std::size_t i = at + j, left = at + before(j, columns_), right = at + behind(j, columns_);
      Scalar rate = flow(i, left, right), recovery_rate = recovery_flow(i, left, right);
      if (plane) {
        rate += flow(i, above + j, below + j);
        recovery_rate += recovery_flow(i, above + j, below + j);
      } else if (wave_.coupling) {
        // The first and the last axon have one neighbour.
        if (row > 0) rate += coupling * (v[above + j] - v[i]);
        if (row + 1 < rows_) rate += coupling * (v[below + j] - v[i]);
      }
      rate += v[i] * (1 - v[i]) * (v[i] - a_[i]) - w[i];
      recovery_rate += epsilon_[i] * (v[i] - gamma_[i] * w[i]);
      next_v_[i] = v[i] + h * rate;
      next_w_[i] = w[i] + h * recovery_rate;
    }
    add_noise(wave_, {taken_, step}, v, at + first, at + end, next_v_.data());
  }

  problem wave_;
  double step_;
  executor& executor_;
  std::size_t rows_, columns_;
  std::size_t taken_ = 0;
  std::vector<Scalar> a_, gamma_, epsilon_, diffusion_;
  aligned_buffer<Scalar> next_v_, next_w_;
};

}  // namespace

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_varied_steps(const problem& wave, double step, executor& executor) {
  return std::make_unique<varied_steps<Scalar>>(wave, step, executor);
}

template std::unique_ptr<stepper<double>> make_varied_steps<double>(const problem&, double, executor&);
template std::unique_ptr<stepper<float>> make_varied_steps<float>(const problem&, double, executor&);

}  // namespace shoal::reaction_diffusion
