// Few rows of many columns: several blocks take the log-densities of the same rows, each a stretch of the columns.
#pragma once

#include <algorithm>
#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/stretches_tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// Score tiles of rows that a block of the log-densities has, each by a group of four warps.
constexpr unsigned half_density_groups(unsigned components) { return components <= 64 ? 3 : 2; }

/// Whether threads that have so many components have registers to join stretches beside their sums.
constexpr bool joins_stretches(unsigned components, int products) { return components <= 64 || products == 1; }

/// What a thread leaves of its sums of a stretch, in fours of float32 numbers: those of its components, with three
/// products what they have too much beside them, and two norms in float64.
constexpr unsigned stretch_fours(unsigned components, int products) {
  return components / 8 * half_terms(products) + 1;
}

/// Stretches that the columns of so many rows are cut into: as many as take least, by steps of a block's columns. They
/// depend on the shape alone, for the bits do.
inline unsigned half_stretches(const kernel_layout& layout, const component_frame& frame, std::size_t rows) {
  const auto ceiling = [](std::size_t a, std::size_t b) { return (a + b - 1) / b; };
  const unsigned components = frame.half_tile();
  if (!joins_stretches(components, frame.products)) return 1;
  const unsigned steps = half_columns(layout.columns) / (half_steps * frame_step);
  const std::size_t tiles = ceiling(rows, half_density_groups(components) * score_tile_rows);
  const auto cost = [&](unsigned stretches) {
    const std::size_t at_once = std::max(1U, frame.multiprocessors / (frame.half_tiles() * stretches));
    const double joining =
        stretches == 1 ? 0 : joining_cost + four_cost * stretches * stretch_fours(components, frame.products);
    return static_cast<double>(ceiling(tiles, at_once)) *
           (static_cast<double>(ceiling(steps, stretches)) + tile_cost + joining);
  };
  unsigned best = 1;
  for (unsigned stretches = 2; stretches <= std::min(most_stretches, steps / least_stretch_steps); ++stretches) {
    if (stretches * frame.half_tiles() > frame.multiprocessors) break;
    if (cost(stretches) < cost(best)) best = stretches;
  }
  return best;
}

}  // namespace shoal::gmm::tensor_float64
