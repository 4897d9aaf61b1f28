// Sizes of the kernels for diagonal and spherical mixtures of many columns and how far their sums are exact, with what
// was measured for each on an NVIDIA H200 by bench/ladder/gmm_large, in milliseconds for (rows, columns, components).
#pragma once

namespace shoal::gmm::tensor_diagonal {

/// Deviations that a component may be from the frame's centre in one column, and their sum of squares over all: sums
/// about the frame's centre, and log-densities from its products, lose digits with the squares of these.
inline constexpr double most_column_distance = 6;
inline constexpr double most_squared_distance = 256;
/// How much smaller than the frame's unit a deviation may be: z² has an error of 2⁻²⁵ where it is small.
inline constexpr double most_ratio = 32;
/// The same for a wide frame: so that rows that matter are in float16's range, and that log₂-densities have errors of
/// less than one where it matters which components are near a row.
inline constexpr double wide_column_distance = 128;
inline constexpr double wide_squared_distance = 65536;
inline constexpr double wide_ratio = 128;

}  // namespace shoal::gmm::tensor_diagonal
