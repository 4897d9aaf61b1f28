// Sizes of the kernels that multiply few columns on tensor cores, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/gmm/covariance_type.hpp>

namespace shoal::gmm::few_columns {

/// Components are multiplied on tensor cores where each is so near to the frame's centre in its deviations, squared and
/// summed over the columns, and where none of its deviations is so much smaller than the frame's unit: log-densities
/// lose digits with these, and so do sums about the frame's centre. Of rows without clusters, 33 components of 8
/// columns come as far as 80 in 60 iterations and 100 components as far as 150 in 40.
inline constexpr double most_product_squared_distance = 256;
inline constexpr double most_product_ratio = 32;
/// The same for full covariances: what the terms of a row's squared distance may sum to that lies a deviation beyond a
/// component's mean, were none of them negative; among correlated columns they are many times their sum.
inline constexpr double most_product_terms = 1024;

/// What ending a group costs, in rows.
inline constexpr double product_group_cost_rows = 64;

/// The same limits where warps make operands in registers (warp_product_kernel.cuh): log-densities are added up whole
/// there. Ten components of 8 columns of rows without clusters come as far as 61, and their terms as far as 91, in 300
/// iterations.
constexpr double most_warp_squared_distance(std::size_t columns) { return columns <= 8 ? 128 : 256; }
constexpr float most_warp_terms(std::size_t columns) { return columns <= 8 ? 256 : 512; }

/// What ending a group costs, in rows.
inline constexpr double warp_product_group_cost_rows = 256;

/// Where they are faster. 2²⁰ rows of (columns, components) take with the others and so
/// (bench/results/warp-products-nvidia-h200-2026-11-28.json): (8, 6) 0.054 and 0.050 ms, (8, 8) 0.065 and 0.050, (8,
/// 10) 0.075 and 0.061, (8, 16) 0.130 and 0.065, (8, 24) 0.201 and 0.092, (8, 32) 0.192 and 0.104, (7, 8) 0.057 and
/// 0.054, (7, 9) 0.062 both, (6, 12) 0.066 and 0.063, (5, 15) 0.066 and 0.063, (5, 32) 0.152 and 0.096; below these
/// sums they are slower, (6, 10) 0.059 and 0.061. 150,000 rows of (8, 10) take 0.0259 and 0.0232, 100,000 of (8, 16)
/// 0.037 and 0.023. Where components lie apart the others take 7 µs more. No kernel is made for 33 components, which
/// take twice as long as 32 by the products above.
/// 10⁶ rows of more columns (bench/results/wider-warp-products-nvidia-h200-2026-11-28.json): (9, 7) 0.084 both, (9, 8)
/// 0.092 and 0.084, (9, 11) 0.113 both, (9, 12) 0.120 and 0.108, (10, 10) 0.119 and 0.110, (11, 6) 0.096 and 0.086,
/// (12, 2) 0.074 and 0.080, (12, 3) 0.097 and 0.080, (12, 32) 0.660 and 0.181, (13, 6) 0.120 and 0.116, (14, 5) 0.118
/// and 0.119, (16, 4) 0.123 and 0.117, (16, 16) 0.412 and 0.180; 100,000 of (12, 9) 0.040 and 0.035, (9, 12) 0.035
/// both. With one product (12, 1) 0.073 and 0.057, (9, 5) 0.071 and 0.057, (13, 1) 0.070 and 0.073, (14, 2) 0.073 and
/// 0.080, (16, 2) 0.083 and 0.077, 10⁷ of (16, 1) 0.845 and 0.523.
/// Of up to 8 columns one product takes (bench/results/circle-products-nvidia-h200-2026-11-29.json), of 2²⁰ rows of (8,
/// 6) 0.050 and 0.040 ms, of (7, 8) 0.055 and 0.042, 150,000 of (8, 10) 0.0232 and 0.0196.
constexpr bool are_warp_products_faster(std::size_t rows, std::size_t columns, std::size_t components, unsigned terms) {
  const std::size_t sums = components * (columns + 1) * (columns + 2) / 2;
  if (rows * sums < 67'500'000) return false;
  if (columns <= 8) return sums >= (components <= 8 ? 270U : 315U);
  if (terms == 1) return columns == 12 || columns == 16 || sums >= 270;
  if (columns == 12) return components >= 3;
  if (columns > 12) return sums > 600;
  return sums >= (components <= 8 ? 440U : 660U);
}

/// Sums of a row's densities, relative to the greatest constant, that float32 holds with all digits.
inline constexpr float least_warp_sum = 0x1p-60F;
inline constexpr float most_warp_sum = 64;

/// Where they are faster than the other rooms' kernels, and these take so long that to find out whose turn it is, some
/// 15 µs, does not show where components lie apart. 10⁶ rows of (columns, components) take with the others and with
/// products (bench/results/few-column-products-nvidia-h200-2026-11-23.json): diag (8, 10) 0.051 and 0.064 ms, (8, 16)
/// 0.107 and 0.064, (8, 33) 0.183 and 0.103, (8, 64) 0.380 and 0.122, (8, 100) 0.592 and 0.231, (8, 256) 1.30 and 0.53,
/// (16, 10) 0.108 and 0.087, (16, 33) 0.315 and 0.163, (16, 256) 1.32 and 0.79, (5, 10) 0.041 and 0.064, (5, 33) 0.138
/// and 0.099, (3, 33) 0.102 and 0.099, (3, 100) 0.268 and 0.216, (1, 100) 0.200 and 0.212; spherical (16, 33) 0.319 and
/// 0.134; 300,000 rows of (8, 16) 0.042 and 0.035, 100,000 of (8, 33) 0.034 and 0.033. Full covariances (8, 10) 0.076
/// and 0.115, (8, 33) 0.301 and 0.229, (8, 100) 1.20 and 0.57, (5, 33) 0.181 and 0.183, (3, 100) 0.326 and 0.229; with
/// 12 to 16 columns 0.83 to 1.16 times as fast, and not made.
constexpr bool are_products_faster(covariance_type type, std::size_t rows, std::size_t columns,
                                   std::size_t components) {
  if (type == covariance_type::full) {
    return columns * components >= 200 && rows * columns * components >= 240'000'000;
  }
  const bool many = components > 128 || (components >= 16 && columns * columns * components >= 256);
  return (many || (columns >= 13 && components >= 10)) && rows * columns * components >= 120'000'000;
}

}  // namespace shoal::gmm::few_columns
