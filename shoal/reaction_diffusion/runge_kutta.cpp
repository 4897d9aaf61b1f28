#include <shoal/reaction_diffusion/runge_kutta.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <shoal/reaction_diffusion/runge_kutta_stage.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t margin = 16;
constexpr std::size_t range_nodes = std::size_t{1} << 13;  // of one thread at a time

template <class Scalar>
class runge_kutta final : public stepper<Scalar> {
 public:
  runge_kutta(const problem& wave, double step, executor& executor)
      : wave_(wave), step_(step), executor_(executor), nodes_(wave.grid.columns) {
    for (pair& part : parts_) {
      part.v.grow(nodes_ + 2 * margin);
      part.w.grow(nodes_ + 2 * margin);
    }
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const std::size_t begin = now.done, end = std::min(steps, begin + most);
    std::copy_n(now.v.data(), nodes_, parts_[at_begin].v.data() + margin);
    std::copy_n(now.w.data(), nodes_, parts_[at_begin].w.data() + margin);
    const auto time_of = [&](std::size_t done) {
      return done == steps ? over.end : over.begin + static_cast<double>(done) * step;
    };
    for (std::size_t done = begin; done < end; ++done) take_step(time_of(done), step, time_of(done + 1));
    std::copy_n(parts_[at_begin].v.data() + margin, nodes_, now.v.data());
    std::copy_n(parts_[at_begin].w.data() + margin, nodes_, now.w.data());
    now.done = end;
    now.time = time_of(end);
    return end - begin;
  }

 private:
  enum part_name { at_begin, at_stage, at_next, at_end };
  struct pair {
    aligned_buffer<Scalar> v, w;
  };

  void take_step(double time, double step, double next_time) {
    pair& begin = parts_[at_begin];
    pair& sum = parts_[at_end];
    std::copy_n(begin.v.data() + margin, nodes_, sum.v.data() + margin);
    std::copy_n(begin.w.data() + margin, nodes_, sum.w.data() + margin);
    constexpr double places[] = {0, 0.5, 0.5, 1}, reaches[] = {0.5, 0.5, 1, 0},
                     shares[] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    for (std::size_t stage = 0; stage < std::size(reaches); ++stage) {
      pair& from = stage == 0 ? begin : parts_[at_stage];
      prescribe(from, time + places[stage] * step);
      run_stage(from, step * reaches[stage], step * shares[stage]);
      std::swap(parts_[at_stage], parts_[at_next]);
    }
    prescribe(sum, next_time);
    std::swap(parts_[at_begin], parts_[at_end]);
  }

  void prescribe(pair& part, double time) const {
    if (wave_.has_input()) part.v[margin + nodes_ - 1] = static_cast<Scalar>(wave_.input_at(time));
  }

  // Two ghost nodes at either end.
  void fill_ghosts(Scalar* u) const {
    const bool around = wave_.boundary == boundary::periodic;
    for (std::size_t i = 1; i <= 2; ++i) {
      u[-static_cast<std::ptrdiff_t>(i)] = around ? u[nodes_ - i] : u[i];
      u[nodes_ - 1 + i] = around ? u[i - 1] : u[nodes_ - 1 - i];
    }
  }

  void run_stage(pair& from, double reach, double share) {
    Scalar* v = from.v.data() + margin;
    fill_ghosts(v);
    if (wave_.parameters.recovery_diffusion > 0) fill_ghosts(from.w.data() + margin);
    if (wave_.has_input()) {
      // Of the polynomial through the last six nodes; the one after it is read for the last node alone.
      const Scalar* end = v + nodes_;
      v[nodes_] = 6 * (end[-1] + end[-5]) - 15 * (end[-2] + end[-4]) + 20 * end[-3] - end[-6];
    }
    const parameters& of = wave_.parameters;
    const stage_coefficients<Scalar> by{
        static_cast<Scalar>(of.a),
        static_cast<Scalar>(of.epsilon),
        static_cast<Scalar>(of.gamma),
        static_cast<Scalar>(of.diffusion / (12 * wave_.grid.spacing * wave_.grid.spacing)),
        static_cast<Scalar>(of.recovery_diffusion / (12 * wave_.grid.spacing * wave_.grid.spacing)),
        static_cast<Scalar>(reach),
        static_cast<Scalar>(share)};
    const stage_arrays<Scalar> arrays{parts_[at_begin].v.data() + margin,
                                      parts_[at_begin].w.data() + margin,
                                      v,
                                      from.w.data() + margin,
                                      parts_[at_next].v.data() + margin,
                                      parts_[at_next].w.data() + margin,
                                      parts_[at_end].v.data() + margin,
                                      parts_[at_end].w.data() + margin};
    executor_.run((nodes_ + range_nodes - 1) / range_nodes, 1, [&](std::size_t range, const team_member&) {
      step_stage(arrays, by, range * range_nodes, std::min(nodes_, (range + 1) * range_nodes));
    });
  }

  problem wave_;
  double step_;
  executor& executor_;
  std::size_t nodes_;
  pair parts_[4];
};

}  // namespace

double longest_runge_kutta_step(const problem& wave) {
  const parameters& of = wave.parameters;
  const double square = wave.grid.spacing * wave.grid.spacing;
  return std::min(2.785 / (16.0 / 3 * of.diffusion / square + std::abs(1 - of.a)),
                  2.785 / (16.0 / 3 * of.recovery_diffusion / square + of.epsilon * of.gamma));
}

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_runge_kutta(const problem& wave, double step, executor& executor) {
  return std::make_unique<runge_kutta<Scalar>>(wave, step, executor);
}

template std::unique_ptr<stepper<double>> make_runge_kutta<double>(const problem&, double, executor&);
template std::unique_ptr<stepper<float>> make_runge_kutta<float>(const problem&, double, executor&);

}  // namespace shoal::reaction_diffusion
