// Orders drawn at random.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include <shoal/random/stream.hpp>

namespace shoal::random {

/// The numbers below `count`, each order equally likely (Fisher & Yates), by `uniforms`.
inline std::vector<std::size_t> permutation(std::size_t count, stream uniforms) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) {
    const auto at = static_cast<std::size_t>(uniforms.uniform() * static_cast<double>(i));
    std::swap(order[i - 1], order[std::min(at, i - 1)]);
  }
  return order;
}

}  // namespace shoal::random
