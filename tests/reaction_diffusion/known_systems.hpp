// Tridiagonal systems whose solutions are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <shoal/random/stream.hpp>
#include <shoal/reaction_diffusion/tridiagonal/systems.hpp>

namespace wave_reference {

// Diagonally dominant, not symmetric, with its solution. The numbers outside of each matrix are not-a-number, so that a
// method that uses them is seen.
template <class Scalar>
struct known_systems {
  std::size_t rows, batch;
  std::vector<Scalar> lower, diagonal, upper, right, solution;

  known_systems(std::size_t row_count, std::size_t batch_count, std::uint64_t seed)
      : rows(row_count), batch(batch_count) {
    shoal::random::stream bits(seed, 1);
    const std::size_t count = rows * batch;
    for (std::size_t i = 0; i < count; ++i) {
      lower.push_back(static_cast<Scalar>(2 * bits.uniform() - 1));
      upper.push_back(static_cast<Scalar>(2 * bits.uniform() - 1));
      diagonal.push_back(static_cast<Scalar>((bits.uniform() < 0.5 ? -1 : 1) * (2.2 + bits.uniform())));
      solution.push_back(static_cast<Scalar>(2 * bits.uniform() - 1));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = i % rows;
      double value = double(diagonal[i]) * double(solution[i]);
      if (row > 0) value += double(lower[i]) * double(solution[i - 1]);
      if (row + 1 < rows) value += double(upper[i]) * double(solution[i + 1]);
      right.push_back(static_cast<Scalar>(value));
      if (row == 0) lower[i] = std::numeric_limits<Scalar>::quiet_NaN();
      if (row + 1 == rows) upper[i] = std::numeric_limits<Scalar>::quiet_NaN();
    }
  }

  shoal::reaction_diffusion::tridiagonal::systems<Scalar> view() const {
    return {lower.data(), diagonal.data(), upper.data(), right.data(), rows, batch};
  }
};

}  // namespace wave_reference
