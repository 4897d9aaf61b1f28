// What a warp adds up of its rows: their responsibilities and moments, which products of the same operands give.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::few_columns {

/// The warps that share rows.
struct product_team {
  unsigned share;
  unsigned number;  // of the team
  unsigned rank;    // of the warp

  __device__ explicit product_team(unsigned sharing)
      : share(sharing), number(threadIdx.x / 32 / sharing), rank(threadIdx.x / 32 % sharing) {}
  __device__ void sync() const {
    __syncwarp();
    if (share > 1) asm volatile("bar.sync %0, %1;" ::"r"(1 + number), "r"(32 * share) : "memory");
  }
};

/// A warp's sums over the rows of a group.
template <class Shape>
struct product_sums {
  float moments[Shape::tiles][Shape::eights][4] = {};  ///< [2 half + e]: component 8 half + g, feature 2 t + e
  float weights[Shape::tiles][2] = {};                 ///< of component 8 half + g, by this thread's rows
  float norms[Shape::spherical ? Shape::tiles : 1][2] = {};
  row_sums head;
};

/// Adds a warp's rows to the sums. `notes` are the rows', `operands` and `constants` those of the warp's components.
template <class Shape>
__device__ bool add_rows(const product_team& team, const std::uint16_t* high_rows, const std::uint16_t* low_rows,
                         const row_note* notes, const uint4* operands, const product_constants* constants,
                         float2* exchange, unsigned count, unsigned components, bool heads, std::uint16_t* far_rows,
                         product_sums<Shape>& sums) {
  constexpr int Tiles = Shape::tiles, Parts = Shape::parts, Eights = 2 * Parts, Rows = 4 * Parts;
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  // Scores [tile][n][2 half + e] of component 8 half + g and row 8 n + 2 t + e: the thread's row 2 n + e.
  float scores[Tiles][Eights][4];
  const auto row_place = [&](int row) { return row / 2 * 8 + 2 * t + row % 2; };
  // Of the four matrices that are loaded at once, a lane has the place of one row.
  const unsigned matrix = lane / 8, place = lane % 8;
#pragma unroll
  for (int step = 0; step < Shape::steps; ++step) {
    std::uint32_t high[Parts][4], low[Parts][4];
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const unsigned from = (16 * part + matrix / 2 * 8 + place) * Shape::stride + 16 * step + matrix % 2 * 8;
      load_matrices(high[part], high_rows + from);
      load_matrices(low[part], low_rows + from);
    }
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
      const uint4 high_four = operands[(tile * Shape::steps + step) * 64];
      const uint4 low_four = operands[(tile * Shape::steps + step) * 64 + 32];
      const std::uint32_t own_high[4] = {high_four.x, high_four.y, high_four.z, high_four.w};
      const std::uint32_t own_low[4] = {low_four.x, low_four.y, low_four.z, low_four.w};
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        const std::uint32_t high0 = high[n / 2][n % 2 * 2], high1 = high[n / 2][n % 2 * 2 + 1];
        if (step == 0) {
          multiply(scores[tile][n], own_low, high0, high1);
        } else {
          tensor::multiply_add(scores[tile][n], own_low, high0, high1);
        }
      }
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        tensor::multiply_add(scores[tile][n], own_high, low[n / 2][n % 2 * 2], low[n / 2][n % 2 * 2 + 1]);
      }
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        tensor::multiply_add(scores[tile][n], own_high, high[n / 2][n % 2 * 2], high[n / 2][n % 2 * 2 + 1]);
      }
    }
  }

  row_note note[Rows];
#pragma unroll
  for (int n = 0; n < Eights; ++n) {
    const float4 two = *reinterpret_cast<const float4*>(notes + 8 * n + 2 * t);
    note[2 * n] = {two.x, two.y};
    note[2 * n + 1] = {two.z, two.w};
  }
  float best[Rows], sum[Rows] = {};
#pragma unroll
  for (int row = 0; row < Rows; ++row) best[row] = -INFINITY;
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 own = *reinterpret_cast<const float2*>(constants + 16 * tile + 8 * half);
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        float& score = scores[tile][row / 2][2 * half + row % 2];
        score += own.x;
        if constexpr (Shape::spherical) score = fmaf(own.y, note[row].norm, score);
        best[row] = fmaxf(best[row], score);
      }
    }
  }
#pragma unroll
  for (int step = 4; step < 32; step *= 2) {
#pragma unroll
    for (int row = 0; row < Rows; ++row) best[row] = fmaxf(best[row], __shfl_xor_sync(~0U, best[row], step));
  }
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        float& score = scores[tile][row / 2][2 * half + row % 2];
        score = exponential_of_two(score - best[row]);
        sum[row] += score;
      }
    }
  }
#pragma unroll
  for (int step = 4; step < 32; step *= 2) {
#pragma unroll
    for (int row = 0; row < Rows; ++row) sum[row] += __shfl_xor_sync(~0U, sum[row], step);
  }
  float scale[Rows];
#pragma unroll
  for (int row = 0; row < Rows; ++row) scale[row] = 1;
  if (team.share > 1) {
    if (g == 0) {
#pragma unroll
      for (int n = 0; n < Eights; ++n) {
        *reinterpret_cast<float4*>(exchange + team.rank * Shape::rows + 8 * n + 2 * t) =
            make_float4(best[2 * n], sum[2 * n], best[2 * n + 1], sum[2 * n + 1]);
      }
    }
    team.sync();
    float total[Rows] = {}, most[Rows];
#pragma unroll
    for (int row = 0; row < Rows; ++row) most[row] = best[row];
#pragma unroll 1
    for (unsigned other = 0; other < team.share; ++other) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        most[row] = fmaxf(most[row], exchange[other * Shape::rows + row_place(row)].x);
      }
    }
#pragma unroll 1
    for (unsigned other = 0; other < team.share; ++other) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const float2 its = exchange[other * Shape::rows + row_place(row)];
        total[row] = fmaf(its.y, exponential_of_two(its.x - most[row]), total[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < Rows; ++row) {
      scale[row] = exponential_of_two(best[row] - most[row]);
      best[row] = most[row];
      sum[row] = total[row];
    }
  }
  unsigned near = 0, far = 0;  // a bit for each row that is inside: it is not far, or it is
#pragma unroll
  for (int row = 0; row < Rows; ++row) {
    const bool inside = row_place(row) < count;
    const bool beyond = may_be_far(best[row] + note[row].common) || !(sum[row] <= static_cast<float>(components));
    scale[row] = inside && !beyond ? scale[row] * quotient(responsibility_scale, sum[row]) : 0.0F;
    near |= inside && !beyond ? 1U << row : 0U;
    far |= inside && beyond ? 1U << row : 0U;
  }
  const bool any_far = __any_sync(~0U, far != 0);
  if (heads) {
    // Each of the eight threads that have the same rows takes one of them.
    if (near >> g & 1) {
      float density = best[0], common = note[0].common, all = sum[0];
#pragma unroll
      for (int row = 1; row < Rows; ++row) {
        density = g == row ? best[row] : density;
        common = g == row ? note[row].common : common;
        all = g == row ? sum[row] : all;
      }
      sums.head.log_likelihood +=
          (static_cast<double>(density) + static_cast<double>(common)) + static_cast<double>(logarithm_of_two(all));
      sums.head.weight += 1;
    }
    unsigned bits = 0;
    if (any_far) {
#pragma unroll
      for (int row = 0; row < Rows; ++row) {
        const unsigned lanes = __ballot_sync(~0U, (far >> row & 1) != 0 && g == 0);
        for (unsigned other = 0; other < 4; ++other) {
          bits |= (lanes >> other & 1) << (row / 2 * 8 + 2 * other + row % 2);
        }
      }
    }
    if (lane < Parts) far_rows[lane] = static_cast<std::uint16_t>(bits >> 16 * lane);
  }

  std::uint32_t own_high[Parts][Tiles][4], own_low[Parts][Tiles][4];
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int n = 0; n < Eights; ++n) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float first = scores[tile][n][2 * half] * scale[2 * n];
        const float second = scores[tile][n][2 * half + 1] * scale[2 * n + 1];
        sums.weights[tile][half] += first + second;
        if constexpr (Shape::spherical) {
          sums.norms[tile][half] += fmaf(first, note[2 * n].norm, second * note[2 * n + 1].norm);
        }
        tensor::split(first, second, own_high[n / 2][tile][n % 2 * 2 + half], own_low[n / 2][tile][n % 2 * 2 + half]);
      }
    }
  }
#pragma unroll
  for (int eight = 0; eight < Shape::eights; eight += 2) {
    // Rows 0 to 7 and 8 to 15 of one eight of features, then of the next; where there is but one, of that again.
    const int next = Shape::eights > 1 ? matrix / 2 : 0;
    std::uint32_t high[Parts][4], low[Parts][4];
#pragma unroll
    for (int part = 0; part < Parts; ++part) {
      const unsigned from = (16 * part + matrix % 2 * 8 + place) * Shape::stride + 8 * (eight + next);
      load_transposed(high[part], high_rows + from);
      load_transposed(low[part], low_rows + from);
    }
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
      for (int of = 0; of < (Shape::eights > 1 ? 2 : 1); ++of) {
        float product[4];
        multiply(product, own_low[0][tile], high[0][2 * of], high[0][2 * of + 1]);
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          if (part > 0) tensor::multiply_add(product, own_low[part][tile], high[part][2 * of], high[part][2 * of + 1]);
          tensor::multiply_add(product, own_high[part][tile], low[part][2 * of], low[part][2 * of + 1]);
        }
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
          tensor::multiply_add(product, own_high[part][tile], high[part][2 * of], high[part][2 * of + 1]);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) sums.moments[tile][eight + of][i] += product[i];
      }
    }
  }
  return any_far;
}

}  // namespace shoal::gmm::few_columns
