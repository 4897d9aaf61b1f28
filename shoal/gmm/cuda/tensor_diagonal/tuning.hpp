// Sizes of the kernels for diagonal and spherical mixtures of many columns and how far their sums are exact, with what
// was measured for each on an NVIDIA H200 by bench/ladder/gmm_large, in milliseconds for (rows, columns, components).
#pragma once

namespace shoal::gmm::tensor_diagonal {

/// How far components may be from the frame's centre, in their own deviations: sums about that centre, and
/// log-densities from its products, lose digits with the squares of these.
struct frame_limits {
  double column_distance;   ///< in one column
  double squared_distance;  ///< Σ D² over all columns
  double fourth_powers;     ///< Σ D⁴ over all columns
  double ratio;             ///< the frame's unit in deviations: z² has an error of 2⁻²⁵ where these are small
};

/// With one product a log-density has an error of 1e-4·√ΣD⁴ (the root of its mean square), that of z² as a float16
/// number: .026 at most here. With three, sums of products cut off digits of ΣD², step after step of 16 columns: 1e-4
/// at most. Components of rows without clusters keep to an edge in some columns: in 64 columns they have D = 14 and
/// √ΣD⁴ = 200 after a hundred iterations.
constexpr frame_limits limits_of(int products, int steps) {
  if (products == 1) return {24, 4096, 65536, 64};
  return {16, steps <= 2 ? 512.0 : (steps <= 4 ? 384.0 : 256.0), 65536, 32};
}
/// The same for a wide frame: so that rows that matter are in float16's range, and that log₂-densities have errors of
/// less than one where it matters which components are near a row.
constexpr frame_limits wide_limits() { return {128, 65536, 1e300, 128}; }
/// A frame leaves out one component among so many, whose terms are found by themselves for every row. Where a fit has
/// put a component on a few rows, all components would take part of every row otherwise.
inline constexpr int components_an_outsider = 16;
/// A common frame leaves out as many as there are while these weigh no more together, and are so many times narrower
/// than its unit in some column: then a few columns show that they have no part of most rows.
inline constexpr float most_left_out_weight = 0.25F;
inline constexpr double least_narrow_ratio = 4;
/// Components that are narrower than the frame's unit by more have no part in the mean curve, which would leave no
/// digits to the others.
inline constexpr double most_curve_ratio = 8;

/// Blocks of kernels that mostly have nothing to do. With one for each tile of 10⁶ rows they took 14 µs to find that
/// out.
inline constexpr int most_tile_blocks = 1056;

}  // namespace shoal::gmm::tensor_diagonal
