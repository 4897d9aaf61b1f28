// Explicit steps written for clarity, and what several tests of waves share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <shoal/random/stream.hpp>
#include <shoal/reaction_diffusion/reaction_diffusion.hpp>

namespace wave_reference {

namespace rd = shoal::reaction_diffusion;

inline const std::vector<rd::scheme> implicit_schemes = {rd::scheme::crank_nicolson, rd::scheme::tr_bdf2};

inline rd::options options_of(rd::scheme scheme, double step, std::vector<double> times) {
  rd::options how;
  how.scheme = scheme;
  how.step = step;
  how.times = std::move(times);
  return how;
}

inline rd::initial_state random_state(const rd::grid& nodes, std::uint64_t seed, std::uint64_t stream = 2) {
  shoal::random::stream bits(seed, stream);
  rd::initial_state begin = rd::rest(nodes);
  for (double& value : begin.v) value = 1.4 * bits.uniform() - 0.2;
  for (double& value : begin.w) value = 0.3 * bits.uniform();
  return begin;
}
inline rd::initial_state random_state(const rd::grid& nodes) { return random_state(nodes, nodes.rows, nodes.columns); }

// `steps` forward Euler steps in long double.
inline rd::initial_state explicit_steps(const rd::problem& wave, const rd::initial_state& begin, double step,
                                        std::size_t steps) {
  const std::size_t rows = wave.grid.rows, columns = wave.grid.columns;
  const rd::parameters& of = wave.parameters;
  std::vector<long double> v(begin.v.begin(), begin.v.end()), w(begin.w.begin(), begin.w.end());
  const bool around = wave.boundary == rd::boundary::periodic;
  const auto neighbour = [&](std::ptrdiff_t i, std::size_t count) {
    const auto n = static_cast<std::ptrdiff_t>(count);
    if (around) return (i + n) % n;
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
  };
  const auto spread = [&](const std::vector<long double>& of_what, std::size_t i, std::size_t j) {
    const auto at = [&](std::ptrdiff_t row, std::ptrdiff_t column) {
      return of_what[static_cast<std::size_t>(neighbour(row, rows)) * columns +
                     static_cast<std::size_t>(neighbour(column, columns))];
    };
    const auto y = static_cast<std::ptrdiff_t>(i), x = static_cast<std::ptrdiff_t>(j);
    long double sum = at(y, x - 1) + at(y, x + 1) - 2 * at(y, x);
    if (rows > 1) sum += at(y - 1, x) + at(y + 1, x) - 2 * at(y, x);
    return sum / (wave.grid.spacing * wave.grid.spacing);
  };
  for (std::size_t s = 0; s <= steps; ++s) {
    for (std::size_t row = 1; row <= rows && wave.has_input(); ++row) {
      v[row * columns - 1] = wave.input_at(static_cast<double>(s) * step);
    }
    if (s == steps) break;
    std::vector<long double> new_v(v.size()), new_w(v.size());
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t k = i * columns + j;
        new_v[k] = v[k] + step * (of.diffusion * spread(v, i, j) + v[k] * (1 - v[k]) * (v[k] - of.a) - w[k]);
        new_w[k] = w[k] + step * (of.recovery_diffusion * spread(w, i, j) + of.epsilon * (v[k] - of.gamma * w[k]));
      }
    }
    v = new_v;
    w = new_w;
  }
  return {{v.begin(), v.end()}, {w.begin(), w.end()}};
}

// The largest difference of v and w of the last state that was kept.
template <class Scalar>
double largest_difference(const rd::result<Scalar>& found, const rd::initial_state& expected) {
  const std::size_t nodes = expected.v.size();
  const Scalar* last = found.states.data() + found.states.size() - 2 * nodes;
  double largest = 0;
  for (std::size_t i = 0; i < 2 * nodes; ++i) {
    const double off = std::abs(double(last[i]) - (i < nodes ? expected.v[i] : expected.w[i - nodes]));
    largest = off <= largest ? largest : off;  // a not-a-number stays
  }
  return largest;
}

// v of the exact front at a time, for a front that began in the middle.
inline std::vector<double> exact_front(const rd::problem& wave, double time) {
  std::vector<double> v;
  const double middle = (static_cast<double>(wave.grid.columns) - 1) / 2;
  for (std::size_t i = 0; i < wave.grid.columns; ++i) {
    const double x = (static_cast<double>(i) - middle) * wave.grid.spacing;
    v.push_back(1 / (1 + std::exp((x - (1 - 2 * wave.parameters.a) / std::sqrt(2.0) * time) / std::sqrt(2.0))));
  }
  return v;
}

}  // namespace wave_reference
