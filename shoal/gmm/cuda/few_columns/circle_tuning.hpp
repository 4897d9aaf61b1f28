// Sizes of the kernels whose warps share rows and divide components, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::gmm::few_columns {

/// Limits of what components' squared distances from the frame's centre are, and of what terms sum to, as in
/// products_tuning.hpp.
inline constexpr double most_circle_squared_distance = 256;
inline constexpr float most_circle_terms = 512;

/// What ending a group costs, in rows of one team.
inline constexpr double circle_flush_cost_rows = 128;

/// Where they are faster than the other rooms' kernels. An iteration of 10⁶ rows of (columns, components) takes with
/// the others and so (bench/results/circle-products-nvidia-h200-2026-11-29.json): in float32 (16, 17) 0.469 and 0.360
/// ms, (16, 33) 0.791 and 0.559, (16, 100) 1.60 and 1.70, (13, 17) 0.317 and 0.343, (12, 33) 0.697 and 0.298, (12,
/// 100) 1.52 and 0.722, (9, 33) 0.414 and 0.287, (9, 256) 3.34 and 1.45, (8, 33) 0.228 and 0.222, (8, 100) 0.570 and
/// 0.422, (8, 256) 3.43 and 0.992, (6, 64) 0.290 and 0.216, (5, 33) 0.183 and 0.205, (5, 100) 0.402 and 0.381; 100,000
/// of (16, 17) 0.083 and 0.076, of (8, 33) 0.051 and 0.052, of (8, 100) 0.155 and 0.087, 30,000 of (8, 64) 0.043 and
/// 0.046. In eleven bits (16, 17) 0.412 and 0.256, (13, 17) 0.316 and 0.195, 10⁷ of (13, 33) 3.99 and 2.76, of (8,
/// 33) 1.90 and 0.94, of (5, 33) 1.60 and 0.92, (13, 256) 2.10 and 1.35, 100,000 of (8, 100) 0.156 and 0.067, of (5,
/// 100) 0.077 and 0.057, 30,000 of (8, 40) 0.039 and 0.038. At the most components that warps have registers for they
/// are ahead (bench/results/features-by-four-warps-nvidia-h200-2026-11-29.json): 300,000 float32 rows of (8, 512) take
/// 0.73 ms so and of (8, 513) 2.28 with the others, (12, 256) 0.60 and (12, 257) 1.18.
constexpr bool are_circles_faster(precision least, std::size_t rows, std::size_t columns, std::size_t components) {
  if (columns < 5 || components <= (columns <= 12 ? 32U : 16U)) return false;
  const std::size_t size = rows * columns * components;
  if (least != precision::float32) return size >= 9'600'000;
  if (size < 27'000'000) return false;
  if (columns > 12) return components <= 64 && columns * components >= 240;
  return columns > 6 || columns * components >= 350;
}

}  // namespace shoal::gmm::few_columns
