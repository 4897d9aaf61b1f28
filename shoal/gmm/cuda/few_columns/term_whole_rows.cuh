// Rows whose densities under all components a warp has registers for: each is found once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/few_columns/term_sums.cuh>

namespace shoal::gmm::few_columns {

/// Combines what the eight threads with the same rows have of each; all of them get it.
template <class Combine>
__device__ void combine_in_all_lanes(float (&values)[4], const Combine& combine) {
#pragma unroll
  for (int step = 4; step < 32; step *= 2) {
#pragma unroll
    for (float& value : values) value = combine(value, __shfl_xor_sync(~0U, value, step));
  }
}

/// Adds sixteen rows of the stage, from `first` on, of which those before `count` count. `far` has a bit for each row
/// of the stage. Returns whether any is far.
template <class Shape>
__device__ bool add_whole_rows(const term_arguments& a, const std::uint16_t* high_rows, const std::uint16_t* low_rows,
                               const row_note* notes, unsigned first, unsigned count, unsigned* far, row_sums& head,
                               term_sums<Shape>& sums) {
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  sixteen_rows<Shape> rows;
  rows.load(high_rows, low_rows);
  float shift[2][2], norm[2][2], common[4];
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const float4 four = *reinterpret_cast<const float4*>(notes + 8 * n + 2 * t);
    shift[n][0] = common[2 * n] = four.x;
    shift[n][1] = common[2 * n + 1] = four.z;
    norm[n][0] = four.y;
    norm[n][1] = four.w;
  }
  float terms[Shape::tiles][2][4];
  const auto find_scores = [&] {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      term_coefficients<Shape> coefficients;
      coefficients.load(a.mixture, static_cast<unsigned>(tile));
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        begin_scores<Shape>(terms[tile][n], coefficients.constants, shift[n], norm[n]);
        add_term_scores<Shape>(terms[tile][n], coefficients, rows.high[n], rows.low[n]);
      }
    }
  };
  float all[4];
  const auto find_sums = [&] {
#pragma unroll
    for (float& value : all) value = 0;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (float& term : terms[tile][n]) term = exponential_of_two(term);
#pragma unroll
        for (int e = 0; e < 2; ++e) all[2 * n + e] += terms[tile][n][e] + terms[tile][n][2 + e];
      }
    }
    combine_in_all_lanes(all, [](float x, float y) { return x + y; });
  };
  find_scores();
  find_sums();
  const auto place_of = [&](int row) { return first + static_cast<unsigned>(row / 2 * 8 + row % 2) + 2 * t; };
  const float most = static_cast<float>(a.components);
  float best[4];  // what log-densities are relative to, less what they have in common
  bool plain = true;
#pragma unroll
  for (int row = 0; row < 4; ++row) {
    plain = plain && (place_of(row) >= count || (all[row] >= least_warp_sum && all[row] <= most));
    best[row] = -common[row];
  }
  plain = __all_sync(~0U, plain);
  if (!plain) {
#pragma unroll
    for (int row = 0; row < 4; ++row) {
      best[row] = -INFINITY;
      shift[row / 2][row % 2] = 0;
    }
    find_scores();
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int row = 0; row < 4; ++row) {
        best[row] = fmaxf(best[row], fmaxf(terms[tile][row / 2][row % 2], terms[tile][row / 2][2 + row % 2]));
      }
    }
    combine_in_all_lanes(best, [](float x, float y) { return fmaxf(x, y); });
#pragma unroll
    for (int row = 0; row < 4; ++row) shift[row / 2][row % 2] = -best[row];
    find_scores();
    find_sums();
  }
  bool any_far = false;
  float scale[4];
#pragma unroll
  for (int row = 0; row < 4; ++row) {
    const bool inside = place_of(row) < count;
    bool beyond = false;
    if (!plain) beyond = may_be_far(best[row] + common[row]) || !(all[row] <= most);
    scale[row] = inside && !beyond ? quotient(responsibility_scale, all[row]) : 0.0F;
    if (inside && beyond) any_far = true;
  }
  // Each of four of the threads that have the same rows takes one of them.
  if (g < 4) {
    const unsigned row = first + g / 2 * 8 + 2 * t + g % 2;
    const bool upper = g >= 2, odd = g % 2 != 0;
    const auto own = [&](const float(&values)[4]) {
      return upper ? (odd ? values[3] : values[2]) : (odd ? values[1] : values[0]);
    };
    if (own(scale) != 0) {
      head.log_likelihood += static_cast<double>(log2f(own(all)));
      if (!plain) head.log_likelihood += static_cast<double>(own(best)) + static_cast<double>(own(common));
      head.weight += 1;
    } else if (row < count) {
      atomicOr(far + row / 32, 1U << row % 32);
    }
  }
  std::uint32_t own_high[Shape::tiles][4], own_low[Shape::tiles][4];
#pragma unroll
  for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        take_two<Shape>(terms[tile][n][2 * half] * scale[2 * n], terms[tile][n][2 * half + 1] * scale[2 * n + 1], tile,
                        half, norm[n], sums, own_high[tile][2 * n + half], own_low[tile][2 * n + half]);
      }
    }
  }
  add_term_products<Shape>(own_high, own_low, high_rows, low_rows, sums);
  return any_far;
}

}  // namespace shoal::gmm::few_columns
