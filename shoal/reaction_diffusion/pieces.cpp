#include <shoal/reaction_diffusion/pieces.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t most_iterations = 40;

template <class Scalar>
class pieces final : public stepper<Scalar> {
 public:
  pieces(const problem& wave, double step, double accuracy, std::size_t piece_nodes, executor& executor)
      : wave_(wave),
        step_(step),
        accuracy_(accuracy),
        piece_nodes_(piece_nodes),
        nodes_(wave.grid.columns),
        reach_(reach_of_step(wave, step)),
        around_(wave.boundary == boundary::periodic),
        executor_(executor) {
    next_v_.grow(nodes_);
    next_w_.grow(nodes_);
    rooms_.resize(executor.threads());
    // The last piece is at least as long as the others.
    count_ = std::max<std::size_t>(1, nodes_ / piece_nodes);
    taken_.resize(count_);
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_), begin = now.done, end = std::min(steps, begin + most);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    while (now.done < end) {
      ++now.done;
      now.time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
      take_step(now, step);
    }
    return end - begin;
  }

  std::vector<double> memory() const override { return {static_cast<double>(iterations_)}; }
  void restore(const std::vector<double>& kept) override {
    expect_words(kept, 1);
    iterations_ = count_in(kept[0]);
  }
  std::size_t newton_iterations() const override { return iterations_; }

 private:
  struct room {
    std::vector<double> v, lower, diagonal, upper, residual;
  };

  void take_step(state<Scalar>& now, double step) {
    // Around, the first node lies between the last piece and the first.
    for (std::size_t piece = around_ ? 0 : 1; piece < count_; ++piece) step_separator(now, step, piece * piece_nodes_);
    executor_.run(count_, 1, [&](std::size_t piece, const team_member& member) {
      taken_[piece] = solve_piece(now, step, piece, rooms_[member.team()]);
    });
    if (*std::min_element(taken_.begin(), taken_.end()) == 0) {
      throw numerical_error(
          fmt::format("Newton's method did not converge in {} iterations at time {}; give a shorter step",
                      most_iterations, now.time));
    }
    iterations_ += *std::max_element(taken_.begin(), taken_.end());
    std::swap(now.v, next_v_);
    std::swap(now.w, next_w_);
  }

  void step_separator(const state<Scalar>& now, double step, std::size_t at) {
    const parameters& of = wave_.parameters;
    const double v = static_cast<double>(now.v[at]), w = static_cast<double>(now.w[at]);
    const double distance = static_cast<double>(reach_) * wave_.grid.spacing;
    const double sides = static_cast<double>(now.v[(at + nodes_ - reach_) % nodes_]) +
                         static_cast<double>(now.v[(at + reach_) % nodes_]);
    const double rate = of.diffusion * (sides - 2 * v) / (distance * distance) + v * (1 - v) * (v - of.a) - w;
    next_v_[at] = static_cast<Scalar>(v + step * rate);
    next_w_[at] = static_cast<Scalar>(w + step * of.epsilon * (v - of.gamma * w));
  }

  // v⁺ − h(D·v⁺_xx + f(v⁺) − w⁺) = v with w⁺ = share·(w + hε·v⁺). Returns the iterations, 0 for too many.
  std::size_t solve_piece(const state<Scalar>& now, double step, std::size_t piece, room& own) {
    const parameters& of = wave_.parameters;
    const bool is_last = piece + 1 == count_;
    const bool wall_before = piece == 0 && !around_;
    const std::size_t first = wall_before ? 0 : piece * piece_nodes_ + 1;
    const std::size_t end = !is_last ? (piece + 1) * piece_nodes_ : wave_.has_input() ? nodes_ - 1 : nodes_;
    const std::size_t count = end - first;
    if (is_last && wave_.has_input()) {
      next_v_[end] = static_cast<Scalar>(wave_.input_at(now.time));
      next_w_[end] = static_cast<Scalar>(
          static_cast<double>(now.w[end]) +
          step * of.epsilon * (static_cast<double>(now.v[end]) - of.gamma * static_cast<double>(now.w[end])));
    }
    const double beside = step * of.diffusion / (wave_.grid.spacing * wave_.grid.spacing);
    const double share = 1 / (1 + step * of.epsilon * of.gamma);
    own.v.assign(now.v.data() + first, now.v.data() + end);
    for (std::vector<double>* part : {&own.lower, &own.upper}) part->assign(count, -beside);
    own.diagonal.resize(count);
    own.residual.resize(count);
    const bool wall_behind = end == nodes_ && !around_;
    if (wall_before) own.upper.front() *= 2;
    if (wall_behind) own.lower.back() *= 2;
    for (std::size_t iteration = 1; iteration <= most_iterations; ++iteration) {
      for (std::size_t i = 0; i < count; ++i) {
        const double v = own.v[i];
        const double before = i > 0 ? own.v[i - 1] : wall_before ? own.v[1] : static_cast<double>(next_v_[first - 1]);
        const double behind = i + 1 < count ? own.v[i + 1]
                              : wall_behind ? own.v[i - 1]
                                            : static_cast<double>(next_v_[end % nodes_]);
        const double w = share * (static_cast<double>(now.w[first + i]) + step * of.epsilon * v);
        own.residual[i] = static_cast<double>(now.v[first + i]) - v + beside * (before - 2 * v + behind) +
                          step * (v * (1 - v) * (v - of.a) - w);
        const double slope = -3 * v * v + 2 * (1 + of.a) * v - of.a;
        own.diagonal[i] = 1 + 2 * beside - step * (slope - share * step * of.epsilon);
      }
      const std::size_t row = tridiagonal::solve_by_thomas<double>(
          {own.lower.data(), own.diagonal.data(), own.upper.data(), own.residual.data(), count}, own.residual.data());
      double largest = 0;
      for (std::size_t i = 0; i < count; ++i) {
        own.v[i] += own.residual[i];
        largest = std::abs(own.residual[i]) <= largest ? largest : std::abs(own.residual[i]);
      }
      if (row != tridiagonal::no_row || !std::isfinite(largest)) return 0;
      // Newton's next error is at most h·max|f''| / 2 ≤ 3h times the square of this change.
      if (largest > accuracy_ && 3 * step * largest * largest > accuracy_) continue;
      for (std::size_t i = 0; i < count; ++i) {
        next_v_[first + i] = static_cast<Scalar>(own.v[i]);
        next_w_[first + i] =
            static_cast<Scalar>(share * (static_cast<double>(now.w[first + i]) + step * of.epsilon * own.v[i]));
      }
      return iteration;
    }
    return 0;
  }

  problem wave_;
  double step_;
  double accuracy_;
  std::size_t piece_nodes_, nodes_, reach_;
  bool around_;
  std::size_t count_ = 1;
  executor& executor_;
  std::size_t iterations_ = 0;
  aligned_buffer<Scalar> next_v_, next_w_;
  std::vector<room> rooms_;
  std::vector<std::size_t> taken_;
};

}  // namespace

std::size_t reach_of_step(const problem& wave, double step) {
  const parameters& of = wave.parameters;
  // step ≤ 0.9 · 2 / (4D/H² + |1 − a|) asks for H² ≥ 4D / (1.8 / step − |1 − a|).
  const double left = 1.8 / step - std::abs(1 - of.a);
  if (!(left > 0)) return 0;
  const double distance = std::sqrt(4 * of.diffusion / left);
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(distance / wave.grid.spacing)));
}

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_pieces(const problem& wave, double step, double accuracy, std::size_t piece_nodes,
                                             executor& executor) {
  return std::make_unique<pieces<Scalar>>(wave, step, accuracy, piece_nodes, executor);
}

template std::unique_ptr<stepper<double>> make_pieces<double>(const problem&, double, double, std::size_t, executor&);
template std::unique_ptr<stepper<float>> make_pieces<float>(const problem&, double, double, std::size_t, executor&);

}  // namespace shoal::reaction_diffusion
