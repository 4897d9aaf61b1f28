// Rows of a stage as operands of products, and the sums of their densities over all components.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/cuda/few_columns/products_tuning.hpp>
#include <shoal/gmm/cuda/few_columns/term_products.hpp>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled: warps sum the moments of Tiles of components, and numbers are two float16
/// terms of which three products are made, or one.
template <covariance_type Type, int Columns, int Tiles, int Products>
struct term_shape {
  static constexpr covariance_type type = Type;
  static constexpr bool full = false;
  static constexpr bool spherical = Type == covariance_type::spherical;
  static constexpr int columns = Columns;
  static constexpr int tiles = Tiles;
  static constexpr bool fine = Products == 3;
  /// Spherical rows of eight columns have ‖z‖² and 1 behind them, where a product has room for eight more.
  static constexpr bool extended = spherical && Columns == 8;
  static constexpr bool has_norms = spherical && !extended;
  static constexpr int steps = static_cast<int>(product_steps(Type, Columns));
  static constexpr int eights = extended ? 2 : static_cast<int>(product_features(Type, Columns)) / 8;
  /// float16 numbers of a row in shared memory: eight rows begin in different banks.
  static constexpr int stride = 16 * steps + 8;
  /// Eights of rows whose densities a warp has at a time: their features and sums stay in registers.
  static constexpr int row_eights = steps == 1 && !has_norms ? 8 : 4;
};

/// Powers of two that responsibilities are multiplied by (responsibility_scale).
inline constexpr float responsibility_exponent = 15;

/// Where things lie in the dynamic shared memory of a block, in bytes.
struct term_places {
  unsigned frame = 0;  ///< product_column [most_columns]
  unsigned notes, shifts, heads, far, stage, bytes;
  static constexpr unsigned far_words = static_cast<unsigned>(cuda::piece_unit) / 32;

  __host__ __device__ term_places(covariance_type type, unsigned columns_of_kernel, unsigned warp_tiles) {
    const unsigned steps = product_steps(type, columns_of_kernel);
    const unsigned staged = term_stage_rows * (16 * steps + 8) * 2 * 2;
    const unsigned eights =
        product_features(type, columns_of_kernel) == 8 ? 2 : product_features(type, columns_of_kernel) / 8;
    const unsigned flushed = term_warps * warp_tiles * (4 * eights + 4) * 32 * 4;
    notes = frame + static_cast<unsigned>(most_columns) * 16;
    shifts = notes + term_stage_rows * 8;
    heads = shifts + term_stage_rows * 4;
    far = heads + term_warps * 16;
    stage = far + far_words * 4;
    bytes = stage + (staged > flushed ? staged : flushed);
  }
};

/// A tile's coefficients as a thread has them, and the constants of components g and g + 8.
template <class Shape>
struct term_coefficients {
  static constexpr int terms = Shape::fine ? 2 : 1;
  uint4 values[Shape::steps][terms];
  float2 constants[2];

  __device__ void load(const product_mixture& mixture, unsigned tile) {
    const unsigned lane = threadIdx.x % 32;
    const auto* const from = reinterpret_cast<const uint4*>(mixture.operands) + tile * (Shape::steps * 64) + lane;
#pragma unroll
    for (int step = 0; step < Shape::steps; ++step) {
#pragma unroll
      for (int term = 0; term < terms; ++term) values[step][term] = __ldg(from + step * 64 + term * 32);
    }
    const auto* const constant = reinterpret_cast<const float2*>(mixture.constants) + tile * product_components;
#pragma unroll
    for (int half = 0; half < 2; ++half) constants[half] = __ldg(constant + 8 * half + lane / 4);
  }
};

/// scores (16 components × 8 rows) += coefficients · features.
template <class Shape>
__device__ void add_term_scores(float (&scores)[4], const term_coefficients<Shape>& coefficients,
                                const std::uint32_t (&high)[Shape::steps][2],
                                const std::uint32_t (&low)[Shape::steps][2]) {
#pragma unroll
  for (int step = 0; step < Shape::steps; ++step) {
    const uint4 first = coefficients.values[step][0];
    const std::uint32_t own_high[4] = {first.x, first.y, first.z, first.w};
    if constexpr (Shape::fine) {
      const uint4 second = coefficients.values[step][1];
      const std::uint32_t own_low[4] = {second.x, second.y, second.z, second.w};
      tensor::multiply_add(scores, own_low, high[step][0], high[step][1]);
      tensor::multiply_add(scores, own_high, low[step][0], low[step][1]);
    }
    tensor::multiply_add(scores, own_high, high[step][0], high[step][1]);
  }
}

/// Behind the columns of sixteen rows, which begin at those places: ‖z‖² and 1. Where ‖z‖² is beyond float16's range
/// the row is far from all components.
__device__ inline void extend_rows(std::uint16_t* high_rows, std::uint16_t* low_rows, row_note* notes,
                                   unsigned stride) {
  const unsigned row = threadIdx.x % 32;
  if (row >= product_rows) return;
  float norm = notes[row].norm;
  if (!(norm <= most_float16)) {
    norm = 0;
    notes[row].common = -INFINITY;
  }
  std::uint32_t high, low;
  tensor::split(norm, 1.0F, high, low);
  *reinterpret_cast<std::uint32_t*>(high_rows + row * stride + 8) = high;
  *reinterpret_cast<std::uint32_t*>(low_rows + row * stride + 8) = low;
}

/// Some rows of a warp: features of row 8 n + g, and what belongs to rows 8 n + 2 t + e.
template <class Shape>
struct term_rows {
  static constexpr int eights = Shape::row_eights;
  std::uint32_t high[eights][Shape::steps][2], low[eights][Shape::steps][2];
  float shift[eights][2];
  float norm[Shape::has_norms ? eights : 1][2];

  __device__ void load(const std::uint16_t* high_rows, const std::uint16_t* low_rows, const row_note* notes) {
    const unsigned lane = threadIdx.x % 32, matrix = lane / 8, place = lane % 8;
#pragma unroll
    for (int n = 0; n < eights; n += 2) {
#pragma unroll
      for (int step = 0; step < Shape::steps; ++step) {
        const unsigned from = (8 * n + matrix / 2 * 8 + place) * Shape::stride + 16 * step + matrix % 2 * 8;
        std::uint32_t four[4];
        load_matrices(four, high_rows + from);
        high[n][step][0] = four[0];
        high[n][step][1] = four[1];
        high[n + 1][step][0] = four[2];
        high[n + 1][step][1] = four[3];
        if constexpr (!Shape::fine) continue;
        load_matrices(four, low_rows + from);
        low[n][step][0] = four[0];
        low[n][step][1] = four[1];
        low[n + 1][step][0] = four[2];
        low[n + 1][step][1] = four[3];
      }
    }
#pragma unroll
    for (int n = 0; n < eights; ++n) {
      const float4 two = *reinterpret_cast<const float4*>(notes + 8 * n + 2 * (lane % 4));
      shift[n][0] = two.x;
      shift[n][1] = two.z;
      if constexpr (Shape::has_norms) {
        norm[n][0] = two.y;
        norm[n][1] = two.w;
      }
    }
  }
};

/// What scores begin with: [2 half + e] of component 8 half + g and one of the thread's two rows.
template <class Shape>
__device__ void begin_scores(float (&scores)[4], const float2 (&constants)[2], const float (&shift)[2],
                             const float* norm) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float& score = scores[2 * half + e];
      score = constants[half].x + shift[e];
      if constexpr (Shape::has_norms) score = fmaf(constants[half].y, norm[e], score);
    }
  }
}

/// Of each of the thread's rows what `add` makes of the log₂ densities of its components.
template <class Shape, class Add>
__device__ void over_components(const term_arguments& a, const term_rows<Shape>& rows, const Add& add) {
  term_coefficients<Shape> next;
  next.load(a.mixture, 0);
#pragma unroll 1
  for (unsigned tile = 0; tile < a.tiles; ++tile) {
    const term_coefficients<Shape> own = next;
    next.load(a.mixture, min(tile + 1, a.tiles - 1));
#pragma unroll
    for (int n = 0; n < Shape::row_eights; ++n) {
      float scores[4];
      begin_scores<Shape>(scores, own.constants, rows.shift[n], rows.norm[Shape::has_norms ? n : 0]);
      add_term_scores<Shape>(scores, own, rows.high[n], rows.low[n]);
      add(n, scores);
    }
  }
}

/// Adds up over the eight threads that have the same rows: of the values of each, thread g keeps those from
/// g · size / 8 on, at the front.
template <int Size, class Combine>
__device__ void combine_over_lanes(float (&values)[Size], const Combine& combine) {
#pragma unroll
  for (int step = 16, left = Size / 2; step >= 4; step /= 2, left /= 2) {
    const bool upper = (threadIdx.x & static_cast<unsigned>(step)) != 0;
#pragma unroll
    for (int i = 0; i < left; ++i) {
      const float mine = upper ? values[left + i] : values[i], theirs = upper ? values[i] : values[left + i];
      values[i] = combine(mine, __shfl_xor_sync(~0U, theirs, step));
    }
  }
}

/// Finds what is taken from the log-densities of some rows, and counts these rows. Constants are at most zero, so that
/// most rows' densities can be added up as they are; where one's sum is small, their greatest ones are found first.
/// `first` is the first row in the stage, `far` [rows of the group / 32] of the stage's first. Returns whether any is
/// far.
template <class Shape>
__device__ bool settle_rows(const term_arguments& a, const term_places& places, unsigned char* memory, unsigned first,
                            unsigned count, unsigned* far, row_sums& head) {
  constexpr int values = 2 * Shape::row_eights, own = values / 8;
  const auto* const stage = reinterpret_cast<const std::uint16_t*>(memory + places.stage);
  const auto* const notes = reinterpret_cast<const row_note*>(memory + places.notes);
  auto* const shifts = reinterpret_cast<float*>(memory + places.shifts);
  term_rows<Shape> rows;
  rows.load(stage + first * Shape::stride, stage + (term_stage_rows + first) * Shape::stride, notes + first);
  const auto find_sums = [&](float(&sums)[values]) {
#pragma unroll
    for (int i = 0; i < values; ++i) sums[i] = 0;
    over_components<Shape>(a, rows, [&](int n, const float(&scores)[4]) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        sums[2 * n + e] += exponential_of_two(scores[e]) + exponential_of_two(scores[2 + e]);
      }
    });
    combine_over_lanes(sums, [](float x, float y) { return x + y; });
  };
  float sums[values];
  find_sums(sums);
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto place_of = [&](int i) {  // of a row whose sum the thread has
    const unsigned value = g * own + static_cast<unsigned>(i);
    return first + value / 2 * 8 + 2 * t + value % 2;
  };
  const auto is_plain = [&](float sum) { return sum >= least_warp_sum && sum <= static_cast<float>(a.components); };
  bool plain = true;
#pragma unroll
  for (int i = 0; i < own; ++i) plain = plain && (place_of(i) >= count || is_plain(sums[i]));
  plain = __all_sync(~0U, plain);
  float best[own], common[own];  // what log-densities are relative to, less what they have in common; the latter
#pragma unroll
  for (int i = 0; i < own; ++i) {
    common[i] = notes[place_of(i)].common;
    best[i] = -common[i];
  }
  if (!plain) {
    float greatest[values];
#pragma unroll
    for (int n = 0; n < Shape::row_eights; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        greatest[2 * n + e] = -INFINITY;
        rows.shift[n][e] = 0;
      }
    }
    over_components<Shape>(a, rows, [&](int n, const float(&scores)[4]) {
#pragma unroll
      for (int e = 0; e < 2; ++e) greatest[2 * n + e] = fmaxf(greatest[2 * n + e], fmaxf(scores[e], scores[2 + e]));
    });
    combine_over_lanes(greatest, [](float x, float y) { return fmaxf(x, y); });
#pragma unroll
    for (int i = 0; i < own; ++i) {
      best[i] = greatest[i];
      shifts[place_of(i)] = -greatest[i];
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < Shape::row_eights; ++n) {
#pragma unroll
      for (int e = 0; e < 2; ++e) rows.shift[n][e] = shifts[first + 8 * n + 2 * t + e];
    }
    __syncwarp();
    find_sums(sums);
  }
  bool any_far = false;
#pragma unroll
  for (int i = 0; i < own; ++i) {
    const unsigned row = place_of(i);
    const float logarithm = log2f(sums[i]);
    // A row beyond the frame has −∞ in common.
    const bool beyond =
        may_be_far(best[i] + common[i] + (plain ? logarithm : 0)) || !(sums[i] <= static_cast<float>(a.components));
    const bool inside = row < count;
    if (inside && !beyond) {
      head.log_likelihood +=
          (static_cast<double>(best[i]) + static_cast<double>(common[i])) + static_cast<double>(logarithm);
      head.weight += 1;
    }
    shifts[row] = inside && !beyond ? (responsibility_exponent - best[i]) - logarithm : -INFINITY;
    if (inside && beyond) {
      any_far = true;
      atomicOr(far + row / 32, 1U << row % 32);
    }
  }
  return any_far;
}

}  // namespace shoal::gmm::few_columns
