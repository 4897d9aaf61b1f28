#include <shoal/reaction_diffusion/source_2016.hpp>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/reaction_diffusion/tridiagonal/methods.hpp>

namespace shoal::reaction_diffusion {
namespace {

constexpr std::size_t most_iterations = 100;

}  // namespace

template <class Scalar>
source_2016<Scalar>::source_2016(const problem& wave, double step, double accuracy, source_end_rows rows)
    : wave_(wave), step_(step), accuracy_(accuracy), corner_(rows == source_end_rows::printed ? 1 : -1) {}

template <class Scalar>
std::size_t source_2016<Scalar>::advance(state<Scalar>& now, const span& over, std::size_t most) {
  const std::size_t steps = over.steps_of(step_);
  const double step = (over.end - over.begin) / static_cast<double>(steps);
  const std::size_t begin = now.done, end = std::min(steps, begin + most);
  while (now.done < end) {
    ++now.done;
    const double time = now.done == steps ? over.end : over.begin + static_cast<double>(now.done) * step;
    take_step(now, step, time);
    now.time = time;
  }
  return end - begin;
}

template <class Scalar>
std::vector<double> source_2016<Scalar>::memory() const {
  std::vector<double> kept = {static_cast<double>(iterations_)};
  kept.insert(kept.end(), before_w_.begin(), before_w_.end());
  return kept;
}

template <class Scalar>
void source_2016<Scalar>::restore(const std::vector<double>& kept) {
  if (kept.size() != 1) expect_words(kept, 1 + wave_.grid.columns);
  iterations_ = count_in(kept[0]);
  before_w_.assign(kept.begin() + 1, kept.end());
}

template <class Scalar>
void source_2016<Scalar>::take_step(state<Scalar>& now, double step, double time) {
  const parameters& of = wave_.parameters;
  const std::size_t nodes = wave_.grid.columns, last = nodes - 1;
  const double weight = of.diffusion / (wave_.grid.spacing * wave_.grid.spacing);
  std::vector<double> v(now.v.data(), now.v.data() + nodes), w(now.w.data(), now.w.data() + nodes), next_w(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const double rate = of.epsilon * (v[i] - of.gamma * w[i]);
    next_w[i] = before_w_.empty() ? w[i] + step * rate : before_w_[i] + 2 * step * rate;
  }
  const auto half_rate = [&](const std::vector<double>& at, std::size_t i) {
    return (weight * (at[i + 1] - 2 * at[i] + at[i - 1]) + at[i] * (1 - at[i]) * (at[i] - of.a)) / 2;
  };
  std::vector<double> known(nodes);
  for (std::size_t i = 1; i < last; ++i) known[i] = v[i] / step + half_rate(v, i) - (w[i] + next_w[i]) / 2;
  std::vector<double> lower(nodes, -weight / 2), diagonal(nodes, 1), upper(nodes, -weight / 2), change(nodes);
  upper.front() = corner_;
  lower.back() = corner_;
  changes_.clear();
  while (changes_.empty() || changes_.back() > accuracy_) {
    change[0] = v[0] - v[1];
    change[last] = v[last] - v[last - 1];
    for (std::size_t i = 1; i < last; ++i) {
      change[i] = v[i] / step - half_rate(v, i) - known[i];
      diagonal[i] = 1 / step + weight - (-3 * v[i] * v[i] + 2 * (1 + of.a) * v[i] - of.a) / 2;
    }
    const std::size_t row = tridiagonal::solve_by_thomas<double>(
        {lower.data(), diagonal.data(), upper.data(), change.data(), nodes}, change.data());
    double largest = 0;
    for (std::size_t i = 0; i < nodes; ++i) {
      v[i] -= change[i];
      largest = std::abs(change[i]) <= largest ? largest : std::abs(change[i]);
    }
    changes_.push_back(largest);
    if (row == tridiagonal::no_row && std::isfinite(largest) && changes_.size() < most_iterations) continue;
    throw numerical_error(
        fmt::format("the source's Newton's method failed after {} iterations at time {}; give a shorter step",
                    changes_.size(), time));
  }
  iterations_ += changes_.size();
  before_w_ = std::move(w);
  std::transform(v.begin(), v.end(), now.v.data(), [](double value) { return static_cast<Scalar>(value); });
  std::transform(next_w.begin(), next_w.end(), now.w.data(), [](double value) { return static_cast<Scalar>(value); });
}

template class source_2016<double>;
template class source_2016<float>;

}  // namespace shoal::reaction_diffusion
