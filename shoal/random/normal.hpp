// Standard normal variates from a random stream.
#pragma once

#include <cmath>
#include <cstdint>

#include <shoal/random/normal_method.hpp>
#include <shoal/random/stream.hpp>
#include <shoal/random/ziggurat_table.hpp>

namespace shoal::random {

/// N(0, 1) by the ratio of uniforms (Kinderman and Monahan, ACM TOMS 3(3), 1977): v/u for a point (u, v) uniform in the
/// region u ≤ exp(−(v/u)²/4), with the two bounds that spare most of the logarithms (Knuth, TAOCP 2, 3.4.1, algorithm
/// R). Takes 2.74 uniforms on average.
inline double normal_by_ratio_of_uniforms(stream& bits) {
  constexpr double half_width = 0.85776388496070679648;  // √(2/e)
  constexpr double inner_slope = 5.13610166675096558;    // 4·e^(1/4)
  constexpr double outer_slope = 1.03696104258356603;    // 4·e^(−1.35)
  for (;;) {
    const double u = bits.uniform();
    const double x = half_width * (2 * bits.uniform() - 1) / u;
    const double square = x * x;
    if (square <= 5 - inner_slope * u) return x;
    if (square >= outer_slope / u + 1.4) continue;
    if (square <= -4 * std::log(u)) return x;
  }
}

/// The share of the ziggurat that is not inside a rectangle: the base layer's tail and the wedges along the curve.
/// Returns whether the point was accepted, then `x` is the variate; about one call in a hundred of the next function
/// comes here.
inline bool accept_outside_rectangle(stream& bits, std::size_t layer, double& x) {
  if (layer == 0) {
    // Marsaglia's tail (1964): r + a with a exponential of rate r, accepted with probability exp(−a²/2).
    double beyond = 0, other = 0;
    do {
      beyond = -std::log(bits.uniform()) / ziggurat_table::tail_start;
      other = -std::log(bits.uniform());
    } while (2 * other < beyond * beyond);
    x = std::copysign(ziggurat_table::tail_start + beyond, x);
    return true;
  }
  const double lower = ziggurat.height[layer], upper = ziggurat.height[layer + 1];
  return lower + bits.uniform() * (upper - lower) < std::exp(-0.5 * x * x);
}

/// N(0, 1) by the ziggurat of Marsaglia and Tsang (2000). The layer takes the 8 low bits and the position the 53 high
/// ones, so that the two are independent (Doornik, "An improved ziggurat method", 2005). Takes 1.01 words of 64 bits on
/// average.
inline double normal_by_ziggurat(stream& bits) {
  for (;;) {
    const std::uint64_t word = bits.next_u64();
    const std::size_t layer = word % ziggurat_table::layers;
    const double position = (static_cast<double>(static_cast<std::int64_t>(word) >> 11) + 0.5) * 0x1p-52;  // (−1, 1)
    double x = position * ziggurat.edge[layer];
    if (std::abs(x) < ziggurat.edge[layer + 1]) return x;
    if (accept_outside_rectangle(bits, layer, x)) return x;
  }
}

/// N(0, 1) by the method asked for.
inline double normal(stream& bits, normal_method method = normal_method::ziggurat) {
  return method == normal_method::ziggurat ? normal_by_ziggurat(bits) : normal_by_ratio_of_uniforms(bits);
}

}  // namespace shoal::random
