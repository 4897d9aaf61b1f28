// Moments of near components in their frame, by products of float16 terms.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/tensor_wide/held_rows.hpp>
#include <shoal/gmm/cuda/tensor_wide/layout.hpp>
#include <shoal/gmm/cuda/tensor_wide/moments.hpp>

namespace shoal::gmm::tensor_wide {

/// Columns of rows in the frame lie by eights; what is beyond the last is zero.
constexpr unsigned eights_of(unsigned columns) { return ceiling(columns, 8U); }

/// A column's unit in such rows is so many powers of two smaller than the frame's, and responsibilities are multiplied
/// by so many, since second terms end at 2⁻²⁴. What counts is at most 6000 deviations given the others (far_limit() and
/// most_spread), so that products of both are at most 2¹⁵.
inline constexpr int framed_row_exponent = 3, framed_share_exponent = 2;

/// Rows of a chunk in the frame, and sums about its origin.
struct framed_sums {
  std::uint16_t* rows = nullptr;  ///< [row][term][eights][8]
  double* first = nullptr;        ///< [lanes][K][columns + 1] Σ w r (x − o), and Σ w r of the same rows
};

/// Moves a chunk's rows into the frame.
void move_rows(const problem& mixture, const row_chunk& chunk, const framed_sums& sums, cudaStream_t stream);

/// Adds the moments of a chunk's rows, which are in the frame, to the lanes: second moments about the origin where
/// others are about a component's centre.
void framed_moments(const problem& mixture, const row_chunk& chunk, const held_sections& held, const moment_plan& plan,
                    const framed_sums& sums, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
