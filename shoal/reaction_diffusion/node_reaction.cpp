#include <shoal/reaction_diffusion/node_reaction.hpp>

#include <algorithm>
#include <cmath>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t block = 64;  // nodes that iterate together
constexpr std::size_t most_iterations = 40;

template <class Scalar>
std::vector<Scalar> narrowed(const std::vector<double>& field, std::size_t nodes, double everywhere) {
  if (field.empty()) return std::vector<Scalar>(nodes, static_cast<Scalar>(everywhere));
  return {field.begin(), field.end()};
}

// Solves v − κ(f(v) − α − βv) = right in `count` ≤ block nodes, from a guess in v.
template <class Scalar>
std::size_t solve(Scalar kappa, const Scalar* a, const Scalar* alpha, const Scalar* beta, const Scalar* right,
                  std::size_t count, Scalar accuracy, Scalar* v) {
  for (std::size_t iteration = 1; iteration <= most_iterations; ++iteration) {
    Scalar largest = 0, sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Scalar here = v[i];
      const Scalar residual = here - kappa * (here * (1 - here) * (here - a[i]) - alpha[i] - beta[i] * here) - right[i];
      const Scalar slope = 1 - kappa * (here * (2 * (1 + a[i]) - 3 * here) - a[i] - beta[i]);
      const Scalar change = residual / slope;
      v[i] = here - change;
      largest = std::max(largest, std::abs(change));
      sum += change;
    }
    if (!std::isfinite(sum)) return 0;
    // Newton's next error is at most κ·max|f''| / 2 ≤ 3κ times the square of this change.
    if (largest <= accuracy || 3 * kappa * largest * largest <= accuracy) return iteration;
  }
  return 0;
}

}  // namespace

template <class Scalar>
node_reaction<Scalar>::node_reaction(const problem& wave, double accuracy)
    : varied_(wave.fields.any()),
      everywhere_a_(static_cast<Scalar>(wave.parameters.a)),
      everywhere_gamma_(static_cast<Scalar>(wave.parameters.gamma)),
      everywhere_epsilon_(static_cast<Scalar>(wave.parameters.epsilon)),
      accuracy_(static_cast<Scalar>(accuracy)) {
  if (!varied_) return;
  const std::size_t nodes = wave.grid.nodes();
  a_ = narrowed<Scalar>(wave.fields.a, nodes, wave.parameters.a);
  gamma_ = narrowed<Scalar>(wave.fields.gamma, nodes, wave.parameters.gamma);
  epsilon_ = narrowed<Scalar>(wave.fields.epsilon, nodes, wave.parameters.epsilon);
}

template <class Scalar>
std::size_t node_reaction<Scalar>::step(part_rule rule, double step, std::size_t first, std::size_t end, Scalar* v,
                                        Scalar* w) const {
  std::size_t most = 0;
  for (std::size_t at = first; at < end; at += block) {
    const std::size_t taken = take(rule, static_cast<Scalar>(step), at, std::min(block, end - at), v + at, w + at);
    if (taken == 0) return 0;
    most = std::max(most, taken);
  }
  return most;
}

// w is eliminated node by node: a stage has w = α + βv.
template <class Scalar>
std::size_t node_reaction<Scalar>::take(part_rule rule, Scalar step, std::size_t first, std::size_t count, Scalar* v,
                                        Scalar* w) const {
  Scalar a[block], rate[block], decay[block], beta[block], alpha[block], right[block], begin_v[block];
  const Scalar kappa = rule == part_rule::backward_euler ? step
                       : rule == part_rule::trapezoid    ? step / 2
                                                         : static_cast<Scalar>(tr_bdf2_weights::share) * step / 2;
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = varied_ ? a_[first + i] : everywhere_a_;
    const Scalar epsilon = varied_ ? epsilon_[first + i] : everywhere_epsilon_;
    const Scalar own = kappa * epsilon * (varied_ ? gamma_[first + i] : everywhere_gamma_);
    decay[i] = 1 / (1 + own);
    beta[i] = kappa * epsilon * decay[i];
    begin_v[i] = v[i];
    rate[i] = v[i] * (1 - v[i]) * (v[i] - a[i]) - w[i];
    const bool backward = rule == part_rule::backward_euler;
    alpha[i] = backward ? decay[i] * w[i] : decay[i] * (1 - own) * w[i] + beta[i] * v[i];
    right[i] = backward ? v[i] : v[i] + kappa * rate[i];
  }
  std::size_t iterations = solve(kappa, a, alpha, beta, right, count, accuracy_, v);
  if (iterations == 0) return 0;
  if (rule != part_rule::tr_bdf2) {
    for (std::size_t i = 0; i < count; ++i) w[i] = alpha[i] + beta[i] * v[i];
    return iterations;
  }
  const auto c1 = static_cast<Scalar>(tr_bdf2_weights::from_middle),
             c2 = static_cast<Scalar>(tr_bdf2_weights::from_begin);
  for (std::size_t i = 0; i < count; ++i) {
    const Scalar middle_w = alpha[i] + beta[i] * v[i];
    right[i] = c1 * v[i] - c2 * begin_v[i];
    alpha[i] = decay[i] * (c1 * middle_w - c2 * w[i]);
  }
  const std::size_t more = solve(kappa, a, alpha, beta, right, count, accuracy_, v);
  for (std::size_t i = 0; i < count; ++i) w[i] = alpha[i] + beta[i] * v[i];
  return more == 0 ? 0 : iterations + more;
}

template class node_reaction<double>;
template class node_reaction<float>;

}  // namespace shoal::reaction_diffusion
