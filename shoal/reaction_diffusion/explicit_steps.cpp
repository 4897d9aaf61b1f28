#include <shoal/reaction_diffusion/explicit_steps.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <shoal/reaction_diffusion/explicit_window.hpp>

namespace shoal::reaction_diffusion {
namespace {

// A window's v and w lie in a core's second cache. Its nodes at an open end go wrong, one more with each step; `halo`
// of them are thrown away.
constexpr std::size_t window_bytes = 384 * 1024;
constexpr std::size_t halo = 32;
// Steps in a pass where one window holds the whole axon, and nothing is thrown away.
constexpr std::size_t most_steps = 1024;

template <class Scalar>
class explicit_steps final : public stepper<Scalar> {
 public:
  explicit_steps(const problem& wave, double step, executor& executor)
      : wave_(wave), step_(step), executor_(executor), nodes_(wave.grid.nodes()) {
    constexpr std::size_t most_nodes = window_bytes / (2 * sizeof(Scalar));
    windows_ = (nodes_ + most_nodes - 1) / most_nodes;
    if (nodes_ > most_nodes / 8) windows_ = std::max(windows_, executor.threads());
    own_nodes_ = ((nodes_ + windows_ - 1) / windows_ + window_margin - 1) / window_margin * window_margin;
    windows_ = (nodes_ + own_nodes_ - 1) / own_nodes_;
    whole_ = windows_ == 1 && wave.boundary != boundary::periodic;
    next_v_.grow(nodes_);
    next_w_.grow(nodes_);
    scratch_.resize(executor.threads());
  }

  std::size_t advance(state<Scalar>& now, const span& over, std::size_t most) override {
    const std::size_t steps = over.steps_of(step_);
    const double step = (over.end - over.begin) / static_cast<double>(steps);
    const auto time_of = [&](std::size_t done) {
      return done == steps ? over.end : over.begin + static_cast<double>(done) * step;
    };
    const explicit_coefficients<Scalar> by = explicit_coefficients_of<Scalar>(wave_, step);
    const std::size_t end = std::min(steps, now.done + most);
    const std::size_t begin = now.done;
    while (now.done < end) {
      const std::size_t count = std::min(end - now.done, whole_ ? most_steps : halo);
      input_.clear();
      if (wave_.has_input()) {
        for (std::size_t i = 0; i <= count; ++i) {
          input_.push_back(static_cast<Scalar>(wave_.input_at(time_of(now.done + i))));
        }
      }
      executor_.run(windows_, 1, [&](std::size_t window, const team_member& member) {
        pass(now, by, window * own_nodes_, count, scratch_[member.team()]);
      });
      std::swap(now.v, next_v_);
      std::swap(now.w, next_w_);
      now.done += count;
    }
    now.time = time_of(now.done);
    return now.done - begin;
  }

 private:
  struct room {
    aligned_buffer<Scalar> v, w, carried;
  };

  void pass(const state<Scalar>& now, const explicit_coefficients<Scalar>& by, std::size_t first, std::size_t steps,
            room& own) {
    const bool periodic = wave_.boundary == boundary::periodic;
    const std::size_t end = std::min(nodes_, first + own_nodes_);
    const bool left_open = periodic || first > halo, right_open = periodic || end + halo < nodes_;
    // Nodes from `before` nodes before the first own one; the own ones stay aligned.
    const std::size_t before = left_open ? halo : first, behind = right_open ? halo : nodes_ - end;
    const std::size_t count = before + (end - first) + behind;
    if (own.v.size() < count + 2 * window_margin) {
      own.v.grow(own_nodes_ + 2 * halo + 2 * window_margin);
      own.w.grow(own_nodes_ + 2 * halo + 2 * window_margin);
      own.carried.grow(2 * window_margin * (whole_ ? most_steps : halo));
    }
    gather(now.v.data(), first, before, count, own.v.data());
    gather(now.w.data(), first, before, count, own.w.data());
    Scalar* v = own.v.data() + window_margin;
    Scalar* w = own.w.data() + window_margin;
    const window_end last = wave_.has_input() ? window_end::input : window_end::mirror;
    step_window({v, w, count, left_open ? window_end::open : window_end::mirror, right_open ? window_end::open : last,
                 input_.data()},
                by, steps, own.carried.data());
    copy_past_cache(v + before, end - first, next_v_.data() + first);
    copy_past_cache(w + before, end - first, next_w_.data() + first);
  }

  // Nodes [first − before, first − before + count), the indices taken around the axon, between margins of zeros.
  void gather(const Scalar* from, std::size_t first, std::size_t before, std::size_t count, Scalar* to) const {
    std::fill_n(to, window_margin, Scalar(0));
    to += window_margin;
    std::size_t at = (first + nodes_ * (1 + before / nodes_) - before) % nodes_;
    for (std::size_t done = 0; done < count;) {
      const std::size_t some = std::min(count - done, nodes_ - at);
      std::copy_n(from + at, some, to + done);
      done += some;
      at = 0;
    }
    std::fill_n(to + count, window_margin, Scalar(0));
  }

  problem wave_;
  double step_;
  executor& executor_;
  std::size_t nodes_;
  std::size_t windows_ = 1;
  std::size_t own_nodes_ = 0;
  bool whole_ = false;
  aligned_buffer<Scalar> next_v_, next_w_;
  std::vector<Scalar> input_;
  std::vector<room> scratch_;
};

}  // namespace

template <class Scalar>
explicit_coefficients<Scalar> explicit_coefficients_of(const problem& wave, double step) {
  const parameters& of = wave.parameters;
  const double square = wave.grid.spacing * wave.grid.spacing, neighbours = wave.grid.rows > 1 ? 4 : 2;
  const double spread = step * of.diffusion / square, recovery_spread = step * of.recovery_diffusion / square;
  return {static_cast<Scalar>(step),
          static_cast<Scalar>(1 - neighbours * spread - step * of.a),
          static_cast<Scalar>(step * (1 + of.a)),
          static_cast<Scalar>(spread),
          static_cast<Scalar>(1 - step * of.epsilon * of.gamma - neighbours * recovery_spread),
          static_cast<Scalar>(step * of.epsilon),
          static_cast<Scalar>(recovery_spread)};
}

template explicit_coefficients<double> explicit_coefficients_of<double>(const problem&, double);
template explicit_coefficients<float> explicit_coefficients_of<float>(const problem&, double);

double longest_explicit_step(const problem& wave) {
  const double eigenvalue = (wave.in_plane() ? 8 : 4) / (wave.grid.spacing * wave.grid.spacing);
  const parameters& of = wave.parameters;
  const auto largest = [](const std::vector<double>& field, double everywhere) {
    return field.empty() ? everywhere : *std::max_element(field.begin(), field.end());
  };
  double reaction = wave.fields.a.empty() ? std::abs(1 - of.a) : 0;
  for (const double a : wave.fields.a) reaction = std::max(reaction, std::abs(1 - a));
  const double spread = eigenvalue * largest(wave.fields.diffusion, of.diffusion) + 4 * wave.coupling.value_or(0);
  const double of_v = 2 / (spread + reaction);
  const double of_w = 2 / (eigenvalue * of.recovery_diffusion +
                           largest(wave.fields.epsilon, of.epsilon) * largest(wave.fields.gamma, of.gamma));
  return std::min(of_v, of_w);
}

template <class Scalar>
std::unique_ptr<stepper<Scalar>> make_explicit_steps(const problem& wave, double step, executor& executor) {
  return std::make_unique<explicit_steps<Scalar>>(wave, step, executor);
}

template std::unique_ptr<stepper<double>> make_explicit_steps<double>(const problem&, double, executor&);
template std::unique_ptr<stepper<float>> make_explicit_steps<float>(const problem&, double, executor&);

}  // namespace shoal::reaction_diffusion
