// Rows whose densities are found once, by warps that share rows and divide the components: each keeps those of its own
// in registers until the others have said what theirs sum to.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/cuda/few_columns/term_sums.cuh>

namespace shoal::gmm::few_columns {

/// What is known when a kernel is compiled, in eleven bits: warps have Tiles of components.
template <covariance_type Type, int Columns, int Tiles>
struct held_shape {
  static constexpr covariance_type type = Type;
  static constexpr bool full = false;
  static constexpr bool spherical = Type == covariance_type::spherical;
  static constexpr int columns = Columns;
  static constexpr int tiles = Tiles;
  static constexpr bool fine = false;
  /// Spherical rows have features behind their columns from which a product gives whole densities: ‖z‖², 1 for each
  /// term of the constant, and the terms of what the row's densities have in common.
  static constexpr bool extended = spherical;
  static constexpr bool has_norms = false;
  static constexpr int steps = static_cast<int>(held_steps(Type, Columns));
  static constexpr int eights = static_cast<int>(held_eights(Type, Columns));
  static constexpr int stride = 16 * steps + 8;
  /// Eights of rows whose densities a warp has at a time.
  static constexpr int row_eights = held_row_eights(Tiles);
  static constexpr int rows = 8 * row_eights;
};

/// Where things lie in the dynamic shared memory of a block, in bytes.
struct held_places {
  unsigned frame = 0;  ///< product_column [most_columns]
  unsigned notes, exchange, heads, far, stage, bytes;

  __host__ __device__ held_places(covariance_type type, unsigned columns_of_kernel, unsigned warp_tiles) {
    const unsigned staged = term_warps * held_stage_rows * (16 * held_steps(type, columns_of_kernel) + 8) * 2;
    const unsigned flushed = term_warps * warp_tiles * (4 * held_eights(type, columns_of_kernel) + 4) * 32 * 4;
    notes = frame + static_cast<unsigned>(most_columns) * 16;
    exchange = notes + term_warps * held_stage_rows * 4;
    heads = exchange + 2 * term_warps * 32 * 4;
    far = heads + term_warps * 16;
    stage = far + static_cast<unsigned>(cuda::piece_unit) / 32 * 4;
    bytes = stage + (staged > flushed ? staged : flushed);
  }
};

/// Warps that have the same rows.
struct held_team {
  unsigned team, part, parts;
  float* exchange;  ///< [2][parts][32]
  unsigned turn = 0;

  __device__ void sync() const {
    if (parts == 1) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(32 * parts) : "memory");
    }
  }
  /// Combines what the warps' threads of one lane have. Who writes the next numbers writes them elsewhere.
  template <class Combine>
  __device__ float over_parts(float value, const Combine& combine) {
    if (parts == 1) return value;
    float* const now = exchange + turn * parts * 32 + threadIdx.x % 32;
    turn ^= 1;
    now[part * 32] = value;
    sync();
    float all = now[0];
    for (unsigned other = 1; other < parts; ++other) all = combine(all, now[other * 32]);
    return all;
  }
};

/// Leaves sixteen rows' features in shared memory, and what each row's densities have in common: −∞ where the row is
/// beyond the frame.
template <class Shape>
__device__ void leave_features(const row_part<Shape>& part, const product_column* frame, std::uint16_t* stage,
                               float* notes) {
  constexpr int size = row_part<Shape>::size;
  const unsigned lane = threadIdx.x % 32, row = lane / 2, first = lane % 2 * size;
  float z[size], squares[size];
  float common = 0, norm = 0;
  bool beyond = false;
#pragma unroll
  for (int i = 0; i < size; ++i) {
    const float4 column = *reinterpret_cast<const float4*>(frame + first + i);
    const float value = fmaf(part.x[i], column.x, column.y);
    z[i] = tensor::within_range(value);
    beyond = beyond || z[i] != value;
    squares[i] = z[i] * z[i];
    common = fmaf(squares[i], column.z, common);
    norm += squares[i];
  }
  common += __shfl_xor_sync(~0U, common, 1);
  norm += __shfl_xor_sync(~0U, norm, 1);
  beyond = __shfl_xor_sync(~0U, beyond ? 1 : 0, 1) != 0 || beyond;
  if constexpr (Shape::extended) {
    if (!(norm <= most_float16 && common >= -most_float16)) {  // far from all components
      beyond = true;
      norm = common = 0;
    }
  }
  if (lane % 2 == 0) notes[row] = beyond ? -INFINITY : common;
  std::uint16_t* const to = stage + row * Shape::stride;
  const auto write = [&](const float(&values)[size], unsigned at) {
    std::uint32_t pairs[size / 2];
#pragma unroll
    for (int i = 0; i < size / 2; ++i) pairs[i] = tensor::bits_of(__floats2half2_rn(values[2 * i], values[2 * i + 1]));
    if constexpr (size == 8) {
      *reinterpret_cast<uint4*>(to + at + first) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    } else {
      *reinterpret_cast<uint2*>(to + at + first) = make_uint2(pairs[0], pairs[1]);
    }
  };
  write(z, 0);
  if constexpr (!Shape::spherical) {
    write(squares, Shape::columns);
  } else {
    std::uint32_t high, low;
    tensor::split(common, 0.0F, high, low);
    constexpr std::uint32_t one = 0x3c00;
    const uint4 behind = make_uint4(tensor::bits_of(__floats2half2_rn(norm, 1.0F)), one | high << 16, low & 0xffffU, 0);
    if (lane % 2 == 0) *reinterpret_cast<uint4*>(to + Shape::columns) = behind;
    if (lane % 2 == 1 && Shape::columns == 16) *reinterpret_cast<uint4*>(to + 24) = make_uint4(0, 0, 0, 0);
  }
}

/// A warp's own rows of a stage.
template <class Shape>
__device__ void stage_held_rows(const term_arguments& a, const product_column* frame, std::uint16_t* stage,
                                float* notes, const float* rows, unsigned first, unsigned count) {
  constexpr unsigned together = Shape::columns == 8 ? 4 : 2;
#pragma unroll 1
  for (unsigned from = 0; from < held_stage_rows; from += together * product_rows) {
    row_part<Shape> parts[together];
#pragma unroll
    for (unsigned i = 0; i < together; ++i) parts[i].load(rows, a.columns, first + from + i * product_rows, count);
#pragma unroll
    for (unsigned i = 0; i < together; ++i) {
      const unsigned at = from + i * product_rows;
      leave_features<Shape>(parts[i], frame, stage + at * Shape::stride, notes + at);
    }
  }
}

/// Densities of some rows under a warp's components: [tile][eight of rows][2 half + e], as products leave them.
template <class Shape>
struct held_terms {
  static constexpr int sums = 2 * Shape::row_eights;
  float values[Shape::tiles][Shape::row_eights][4];

  /// log₂ densities. `more` [2 · eight + e] is added to those of the thread's rows.
  __device__ void find_scores(const term_coefficients<Shape> (&coefficients)[Shape::tiles], const std::uint16_t* stage,
                              const float (&more)[sums], bool add_more) {
    const unsigned lane = threadIdx.x % 32, matrix = lane / 8, place = lane % 8;
    std::uint32_t features[Shape::row_eights][Shape::steps][2];
#pragma unroll
    for (int n = 0; n < Shape::row_eights; n += 2) {
#pragma unroll
      for (int step = 0; step < Shape::steps; ++step) {
        std::uint32_t four[4];
        load_matrices(four, stage + (8 * n + matrix / 2 * 8 + place) * Shape::stride + 16 * step + matrix % 2 * 8);
#pragma unroll
        for (int i = 0; i < 4; ++i) features[n + i / 2][step][i % 2] = four[i];
      }
    }
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      const term_coefficients<Shape>& own = coefficients[tile];
#pragma unroll
      for (int n = 0; n < Shape::row_eights; ++n) {
        float(&scores)[4] = values[tile][n];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if constexpr (Shape::extended) {
            scores[i] = 0;
          } else {
            scores[i] = own.constants[i / 2].x + more[2 * n + i % 2];
          }
        }
#pragma unroll
        for (int step = 0; step < Shape::steps; ++step) {
          const uint4 first = own.values[step][0];
          const std::uint32_t factors[4] = {first.x, first.y, first.z, first.w};
          tensor::multiply_add(scores, factors, features[n][step][0], features[n][step][1]);
        }
        if (Shape::extended && add_more) {
#pragma unroll
          for (int i = 0; i < 4; ++i) scores[i] += more[2 * n + i % 2];
        }
      }
    }
  }

  /// Makes them densities, and adds these up over the warp's components: of the row whose number in the warp is
  /// own_row().
  __device__ float find_sum() {
    float all[sums];
#pragma unroll
    for (int i = 0; i < sums; ++i) all[i] = 0;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int n = 0; n < Shape::row_eights; ++n) {
#pragma unroll
        for (float& term : values[tile][n]) term = exponential_of_two(term);
#pragma unroll
        for (int e = 0; e < 2; ++e) all[2 * n + e] += values[tile][n][e] + values[tile][n][2 + e];
      }
    }
    return of_own_row(all, [](float x, float y) { return x + y; });
  }
  __device__ float find_greatest() const {
    float all[sums];
#pragma unroll
    for (float& value : all) value = -INFINITY;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int n = 0; n < Shape::row_eights; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          all[2 * n + e] = fmaxf(all[2 * n + e], fmaxf(values[tile][n][e], values[tile][n][2 + e]));
        }
      }
    }
    return of_own_row(all, [](float x, float y) { return fmaxf(x, y); });
  }

  /// The row that a thread speaks for; of sixteen rows two threads each do.
  static constexpr unsigned lanes_of_value = 8 / sums;
  __device__ static unsigned own_row() {
    const unsigned lane = threadIdx.x % 32, value = lane / 4 / lanes_of_value;
    return value / 2 * 8 + lane % 4 * 2 + value % 2;
  }
  __device__ static bool is_first_of_row() { return threadIdx.x / 4 % lanes_of_value == 0; }
  /// Numbers of the thread's rows, from the threads that speak for them.
  __device__ static void spread(float own, float (&all)[sums]) {
#pragma unroll
    for (int i = 0; i < sums; ++i) {
      all[i] = __shfl_sync(~0U, own, static_cast<int>(4 * lanes_of_value * i + threadIdx.x % 4));
    }
  }

 private:
  template <class Combine>
  __device__ static float of_own_row(float (&all)[sums], const Combine& combine) {
#pragma unroll
    for (int step = 16, left = sums / 2; step >= 4; step /= 2, left /= 2) {
      const bool upper = (threadIdx.x & static_cast<unsigned>(step)) != 0;
      if (left == 0) all[0] = combine(all[0], __shfl_xor_sync(~0U, all[0], step));
#pragma unroll
      for (int i = 0; i < left; ++i) {
        const float mine = upper ? all[left + i] : all[i], theirs = upper ? all[i] : all[left + i];
        all[i] = combine(mine, __shfl_xor_sync(~0U, theirs, step));
      }
    }
    return all[0];
  }
};

/// What a thread knows of the rows of a stage: Σ log₂ p, and their number.
struct stage_sums {
  float logarithms = 0, rows = 0;
};

/// Adds some rows of the team's stage, from `first` of the group on, of which those before `count` count. `counts` says
/// whether the warp speaks for them. Returns whether any is far.
template <class Shape>
__device__ bool add_held_rows(const term_arguments& a, const term_coefficients<Shape> (&coefficients)[Shape::tiles],
                              const std::uint16_t* stage, const float* notes, unsigned first, unsigned count,
                              bool counts, held_team& team, unsigned* far, stage_sums& found, term_sums<Shape>& sums) {
  using terms_of_rows = held_terms<Shape>;
  terms_of_rows terms;
  const unsigned row = terms_of_rows::own_row();
  const float common = notes[row], most = static_cast<float>(a.components);
  const bool inside = first + row < count;
  float more[terms_of_rows::sums];
  if constexpr (!Shape::extended) {
#pragma unroll
    for (int n = 0; n < Shape::row_eights; ++n) {
      const float2 two = *reinterpret_cast<const float2*>(notes + 8 * n + threadIdx.x % 4 * 2);
      more[2 * n] = two.x;
      more[2 * n + 1] = two.y;
    }
  }
  const auto add = [](float x, float y) { return x + y; };
  terms.find_scores(coefficients, stage, more, false);
  float sum = team.over_parts(terms.find_sum(), add);
  float best = 0;  // what densities are relative to
  // All parts see the same sums, and go the same way.
  const bool plain = __all_sync(~0U, !inside || (common != -INFINITY && sum >= least_warp_sum && sum <= most));
  if (!plain) {
#pragma unroll
    for (float& value : more) value = 0;
    terms.find_scores(coefficients, stage, more, false);
    best = team.over_parts(terms.find_greatest(), [](float x, float y) { return fmaxf(x, y); });
    terms_of_rows::spread(-best, more);
    terms.find_scores(coefficients, stage, more, true);
    sum = team.over_parts(terms.find_sum(), add);
    if constexpr (!Shape::extended) best += common;
  }
  const bool beyond = !plain && (common == -INFINITY || may_be_far(best) || !(sum <= most));
  if (counts && inside && terms_of_rows::is_first_of_row()) {
    if (beyond) atomicOr(far + (first + row) / 32, 1U << (first + row) % 32);
    found.logarithms += beyond ? 0.0F : best + logarithm_of_two(sum);
    found.rows += beyond ? 0.0F : 1.0F;
  }
  float scale[terms_of_rows::sums];
  terms_of_rows::spread(inside && !beyond ? quotient(responsibility_scale, sum) : 0.0F, scale);
#pragma unroll
  for (int n = 0; n < Shape::row_eights; n += 2) {
    std::uint32_t factors[Shape::tiles][4];
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float(&two)[4] = terms.values[tile][n + i / 2];
        factors[tile][i] = tensor::bits_of(__floats2half2_rn(two[i % 2 * 2] * scale[2 * n + i / 2 * 2],
                                                             two[i % 2 * 2 + 1] * scale[2 * n + i / 2 * 2 + 1]));
      }
    }
    const std::uint16_t* const from = stage + 8 * n * Shape::stride;
    add_term_products<Shape>(factors, factors, from, from, sums);
  }
  return counts && inside && beyond;
}

}  // namespace shoal::gmm::few_columns
