// Full covariances' sums in float64 where components lie near each other, on tensor cores: rows are moved to one
// origin, so that y = Uᵀz + b is a product for each component, and moments are a product of responsibilities with
// features of the rows. A warp does both for 32 rows after the other, and waits for no other warp before a group ends.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/gmm/cuda/few_columns/block_lanes.cuh>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/origin_features.cuh>
#include <shoal/gmm/cuda/few_columns/origin_places.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>
#include <shoal/gmm/cuda/few_columns/tuning.hpp>

namespace shoal::gmm::few_columns {

/// Whether rows of so many columns may be moved to one origin.
template <class T>
constexpr bool may_share_origin(int columns, bool matrix) {
  return sizeof(T) == 8 && matrix && columns >= 7 && columns <= static_cast<int>(origin_columns);
}

/// result (16 × 8) = a (16 × 8) · b (8 × 8) + c. Thread 4 g + q of the warp holds a(g, q), a(g + 8, q), a(g, q + 4),
/// a(g + 8, q + 4); b(q, g), b(q + 4, g); c(g, 2q), c(g, 2q + 1), c(g + 8, 2q), c(g + 8, 2q + 1).
__device__ inline void multiply_add(double (&result)[4], const double (&a)[4], const double (&b)[2],
                                    const double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%10, %11, %12, %13};"
      : "=d"(result[0]), "=d"(result[1]), "=d"(result[2]), "=d"(result[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#else
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    double first = c[2 * half], second = c[2 * half + 1];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(first), "+d"(second)
          : "d"(a[2 * part + half]), "d"(b[part]));
    }
    result[2 * half] = first;
    result[2 * half + 1] = second;
  }
#endif
}

/// The same of the first four columns of a and rows of b.
__device__ inline void multiply_add_half(double (&result)[4], const double (&a)[4], double b, const double (&c)[4]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
      : "=d"(result[0]), "=d"(result[1]), "=d"(result[2]), "=d"(result[3])
      : "d"(a[0]), "d"(a[1]), "d"(b), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#else
  const double rest[4] = {a[0], a[1], 0, 0}, two[2] = {b, 0};
  multiply_add(result, rest, two, c);
#endif
}

/// 2 to the power of x in [−½, ½], off by at most 2⁻⁵².
__device__ inline double power_of_part(double x) {
  constexpr double coefficients[] = {4.4549605981865186e-10, 7.072585949269223e-09, 1.0178062445845774e-07,
                                     1.321544258792169e-06,  1.525273382983612e-05, 0.0001540353044173605,
                                     0.0013333558146416936,  0.009618129107606888,  0.0555041086648216,
                                     0.24022650695910097,    0.6931471805599453,    1.0};
  double value = coefficients[0];
#pragma unroll
  for (int i = 1; i < 12; ++i) value = fma(value, x, coefficients[i]);
  return value;
}

/// Writes 2 to the powers of i / origin_powers to table [origin_powers].
__device__ inline void write_powers(double* table) {
  for (unsigned i = threadIdx.x; i < origin_powers; i += blockDim.x) {
    const double part = static_cast<double>(i) / origin_powers;
    table[i] = i < origin_powers / 2 ? power_of_part(part) : 2 * power_of_part(part - 1);
  }
}

/// To numbers from which power_of_two() takes others this is added: with it they are multiples of 1 / origin_powers.
inline constexpr double power_shift = 6755399441055744.0 / origin_powers;

/// 2 to the power of start - power_shift - term, which is at most 2²⁰, off by 2⁻⁵¹; 0 below 2⁻¹⁰²⁰. Units of float64
/// are what these kernels wait for: with a table it takes seven operations, exp2() 21. The polynomial interpolates
/// (2ᵗ − 1)/t at Chebyshev's places of half a step of the table.
__device__ inline double power_of_two(double start, double term, const double* table) {
  static_assert(origin_powers == 2048);
  constexpr int step_bits = 11, steps_of_one = origin_powers;
  const double near = start - term;
  const double rest = (start - near) - term;
  const int steps = __double2loint(near);
  const double whole = table[steps & (steps_of_one - 1)];
  double value = fma(0.05550410872442723, rest, 0.2402265073890646);
  value = fma(value, rest, 0.6931471805599453);
  value = fma(whole, value * rest, whole);
  const double result = __hiloint2double(__double2hiint(value) + ((steps & ~(steps_of_one - 1)) << (20 - step_bits)),
                                         __double2loint(value));
  const long long least = __double_as_longlong(power_shift - 1020);
  return __double_as_longlong(near) < least ? 0.0 : result;
}

/// The least of the components' values and those of the threads that share a row, or a number whose high word is that
/// of the least one, and zero its low word: this word.
template <int Quads>
__device__ int about_least(const double (&values)[Quads]) {
  const auto in_order = [](int high) { return high ^ (high >> 31 & 0x7FFFFFFF); };
  int least = in_order(__double2hiint(values[0]));
#pragma unroll
  for (int k = 1; k < Quads; ++k) least = min(least, in_order(__double2hiint(values[k])));
  least = min(least, __shfl_xor_sync(~0U, least, 1));
  least = min(least, __shfl_xor_sync(~0U, least, 2));
  return in_order(least);
}
template <int Quads>
__device__ double exact_least(const double (&values)[Quads]) {
  double least = values[0];
#pragma unroll
  for (int k = 1; k < Quads; ++k) least = fmin(least, values[k]);
  least = fmin(least, __shfl_xor_sync(~0U, least, 1));
  return fmin(least, __shfl_xor_sync(~0U, least, 2));
}

/// The sum over the threads 4 g … 4 g + 3 of numbers [q], in thread 4 g + q.
__device__ inline double own_sum_of_four(const double (&numbers)[4]) {
  const bool odd = threadIdx.x % 2 != 0, high = threadIdx.x % 4 >= 2;
  const double first = odd ? numbers[1] : numbers[0], second = odd ? numbers[3] : numbers[2];
  const double pair = first + __shfl_xor_sync(~0U, odd ? numbers[0] : numbers[1], 1);
  const double other = second + __shfl_xor_sync(~0U, odd ? numbers[2] : numbers[3], 1);
  return (high ? other : pair) + __shfl_xor_sync(~0U, high ? pair : other, 2);
}

/// Whether x, a high word of a sum, is that of a positive number below 2¹⁰ and not near zero.
__device__ inline bool is_usual_sum(int high) {
  constexpr unsigned least = 0x39B00000, past = 0x40900000;  // 2⁻¹⁰⁰
  return static_cast<unsigned>(high) - least < past - least;
}

/// Σ log₂ of numbers, as the logarithm of a product.
struct logarithms {
  double product = 1;
  int exponent = 0;

  __device__ void add(double x) {
    product *= x;
    const int high = __double2hiint(product);
    exponent += (high >> 20) - 1023;
    product = __hiloint2double((high & 0xFFFFF) | 0x3FF00000, __double2loint(product));
  }
  __device__ double sum() const { return static_cast<double>(exponent) + log2(product); }
};

/// 1 / x for x in [2⁻¹⁰⁰, 2¹⁰⁰].
__device__ inline double reciprocal(double x) {
  double result;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(x));
  double rest = fma(-x, result, 1.0);
  rest = fma(rest, rest, rest);
  result = fma(result, rest, result);
  return fma(result, fma(-x, result, 1.0), result);
}

/// A warp's rows, sixteens of which are first factors: a(g, q) and so on, of [sixteen][2 part + half].
template <int Columns>
struct warp_rows {
  double x[2][4];

  /// Rows begin … begin + 31 of the group, those beyond the last one as the first of the group.
  __device__ void load(const double* rows, unsigned begin, unsigned count) {
    const unsigned g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned row = begin + 16 * i + 8 * half + g;
        const double* const from = rows + (row < count ? row : 0) * Columns + q;
        x[i][half] = __ldg(from);
        x[i][2 + half] = Columns == 8 || q + 4 < Columns ? __ldg(from + 4) : 0.0;
      }
    }
  }
};

/// From products to other operations and back takes a warp 20 cycles, and compilers mix them. Where there are other
/// products meanwhile and registers for a quad's y, a branch that is always taken keeps them apart: (2²⁰, 8, 10) takes
/// 0.103 ms instead of 0.107, 16 components 0.123 instead of 0.134, but four 0.071 instead of 0.060.
template <int Columns, int Quads>
inline constexpr bool keeps_apart = Columns == 8 && Quads >= 3;

/// Adds a group's rows to the lane. Quads: of components. Rest: of components, are summed by threads, not by a product
/// whose other columns would be zero.
template <int Columns, int Quads, int Rest = 0>
__device__ void add_group_about_origin(const kernel_arguments<double>& a, double* memory, const double* rows,
                                       const double* weights, unsigned count, lane_sums& lane) {
  constexpr int Tiles = (Quads + 1) / 2, Products = Rest > 0 ? Tiles - 1 : Tiles;
  static_assert(Rest <= 2);
  const origin_places places(Columns, a.components, blockDim.x / 32);
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const unsigned thread = threadIdx.x % 32, g = thread / 4, q = thread % 4;
  const double* const origin = memory + places.origin;
  const auto* const factors = reinterpret_cast<const double2*>(memory + places.factors) + thread;
  const auto* const offsets = reinterpret_cast<const double2*>(memory + places.offsets + q * origin_offset_stride);
  double* const own_rows = memory + places.warps + warp * places.warp_size;
  double* const own_shares = own_rows + 32 * origin_row_stride;
  const unsigned share_stride = places.share_stride;
  const double own_origin[2] = {origin[q], origin[q + 4]};
  const double* const powers = memory + places.powers;
  double constants[Quads];  // of components 4 k + q, negative
#pragma unroll
  for (int i = 0; i < Quads; ++i) constants[i] = -memory[places.constants + quad * i + q];

  origin_sums<double, Tiles> sums = {};
  double rest_sums[2 * feature_tiles][Rest > 0 ? Rest : 1] = {};
  row_sums head;
  logarithms densities;
  warp_rows<Columns> next;
  if (32 * warp < count) next.load(rows, 32 * warp, count);
#pragma unroll 1
  for (unsigned begin = 32 * warp; begin < count; begin += 32 * warps) {
    double z[2][4];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        double* const row = own_rows + (16 * i + 8 * half + g) * origin_row_stride + q;
        z[i][half] = next.x[i][half] - own_origin[0];
        z[i][2 + half] = next.x[i][2 + half] - own_origin[1];
        row[0] = z[i][half];
        row[4] = z[i][2 + half];
      }
    }
    if (begin + 32 * warps < count) next.load(rows, begin + 32 * warps, count);

    // −log2 of the densities of rows 8 r + g under components 4 k + q, all of whose y come to this thread. Of y 0 … 3
    // the last four columns have no part.
    double terms[4][Quads];
#pragma unroll
    for (int k = 0; k < Quads; ++k) {
      double2 factor[quad_factors];
#pragma unroll
      for (int i = 0; i < static_cast<int>(quad_factors); ++i) factor[i] = factors[(k * quad_factors + i) * 32];
      double norms[2][2] = {{constants[k], constants[k]}, {constants[k], constants[k]}};
      double y[2][4][4];
      const auto add_squares = [&](int pair, int i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) norms[i][e / 2] = fma(y[i][pair][e], y[i][pair][e], norms[i][e / 2]);
      };
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        const double2 offset = offsets[k * (quad * origin_offset_stride / 2) + pair];
        const double start[4] = {offset.x, offset.y, offset.x, offset.y};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          if (pair < 2) {
            multiply_add_half(y[i][pair], z[i], pair == 0 ? factor[0].x : factor[0].y, start);
          } else {
            const double two[2] = {factor[pair - 1].x, factor[pair - 1].y};
            multiply_add(y[i][pair], z[i], two, start);
          }
          if constexpr (!keeps_apart<Columns, Quads>) add_squares(pair, i);
        }
      }
      if (keeps_apart<Columns, Quads> && a.components != 0) {
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {
#pragma unroll
          for (int i = 0; i < 2; ++i) add_squares(pair, i);
        }
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) terms[r][k] = norms[r / 2][r % 2];
    }

    int best[4];
    unsigned farthest = 0;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      best[r] = about_least(terms[r]);
      farthest = max(farthest, static_cast<unsigned>(best[r] & 0x7FFFFFFF));
    }
    // Of rows r = q this thread finds what all four need.
    double own_moved = 0;
    constexpr unsigned past = 0x41B00000;     // of 2²⁸
    if (__any_sync(~0U, farthest >= past)) {  // too large to leave out half of its digits
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const double least = exact_least(terms[r]);
#pragma unroll
        for (int k = 0; k < Quads; ++k) terms[r][k] -= least;
        own_moved = q == r ? least : own_moved;
        best[r] = 0;
      }
    }
    double sum[4], own_start = 0;
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const double start = __hiloint2double(best[r], 0) + power_shift;
      own_start = q == r ? start : own_start;
#pragma unroll
      for (int k = 0; k < Quads; ++k) {
        terms[r][k] = power_of_two(start, terms[r][k], powers);
        sum[r] = k == 0 ? terms[r][k] : sum[r] + terms[r][k];
      }
    }
    double own_sum = own_sum_of_four(sum);
    double own_best = (own_start - power_shift) + own_moved;
    const bool rare = !is_usual_sum(__double2hiint(own_sum));
    const unsigned own_row = begin + 8 * q + g;
    double own_weight = own_row < count ? 1.0 : 0.0;
    if (weights != nullptr && own_row < count) own_weight = weights[own_row];
    if (__any_sync(~0U, rare)) {
      // A row that weighs nothing may have a density of zero, and terms that are no numbers.
      const bool nothing = own_weight == 0 && !(own_sum > 0 && own_sum < 0x1p10);
      own_best = nothing ? 0.0 : own_best;
      own_sum = nothing ? 1.0 : own_sum;
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        if (__shfl_sync(~0U, nothing ? 1 : 0, static_cast<int>(4 * g + r)) == 0) continue;
#pragma unroll
        for (int k = 0; k < Quads; ++k) terms[r][k] = 0;
        own_rows[(8 * r + g) * origin_row_stride + q] = 0;
        own_rows[(8 * r + g) * origin_row_stride + q + 4] = 0;
      }
    }
    const double own_scale = own_weight * reciprocal(own_sum);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const double scale = __shfl_sync(~0U, own_scale, static_cast<int>(4 * g + r));
      double* const shares = own_shares + (8 * r + g) * share_stride + q;
#pragma unroll
      for (int k = 0; k < Quads; ++k) shares[quad * k] = terms[r][k] * scale;
    }
    head.log_likelihood -= own_weight * own_best;
    head.weight += own_weight;
    if (weights == nullptr && !__any_sync(~0U, rare)) {
      densities.add(own_row < count ? own_sum : 1.0);
    } else {
      head.log_likelihood += own_weight * log2(own_sum);
    }
    __syncwarp();

#pragma unroll 2
    for (unsigned step = 0; step < 32; step += origin_rows) {
      double features[feature_tiles][4], shares[Tiles][2], rest[2][Rest > 0 ? Rest : 1];
#pragma unroll
      for (unsigned half = 0; half < 2; ++half) {
        const unsigned at = step + 4 * half + q;
        const double* const row = own_rows + at * origin_row_stride;
        const double columns[4] = {row[g], row[(g + 1) % 8], row[(g + 3) % 8], row[(g + 4) % 8]};
        double made[2 * feature_tiles];
        make_features(columns, g, made);
#pragma unroll
        for (unsigned i = 0; i < 2 * feature_tiles; ++i) features[i / 2][2 * half + i % 2] = made[i];
#pragma unroll
        for (int tile = 0; tile < Products; ++tile) {
          shares[tile][half] = own_shares[at * share_stride + origin_components * tile + g];
        }
#pragma unroll
        for (int i = 0; i < Rest; ++i) rest[half][i] = own_shares[at * share_stride + origin_components * Products + i];
      }
#pragma unroll
      for (int tile = 0; tile < Products; ++tile) {
#pragma unroll
        for (unsigned t = 0; t < feature_tiles; ++t) {
          multiply_add(sums[t][tile], features[t], shares[tile], sums[t][tile]);
        }
      }
      if (Rest > 0 && a.components != 0) {  // apart from the products
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
#pragma unroll
          for (unsigned feature = 0; feature < 2 * feature_tiles; ++feature) {
            const double value = features[feature / 2][2 * half + feature % 2];
#pragma unroll
            for (int i = 0; i < Rest; ++i) rest_sums[feature][i] = fma(value, rest[half][i], rest_sums[feature][i]);
          }
        }
      }
    }
    __syncwarp();
  }

  head.log_likelihood += densities.sum();

  // As a product would have left them; what other threads than q = 0 write there is of no component.
#pragma unroll
  for (unsigned feature = 0; feature < 2 * feature_tiles; ++feature) {
#pragma unroll
    for (int i = 0; i < Rest; ++i) {
      double sum = rest_sums[feature][i];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      sums[feature / 2][Products][2 * (feature % 2) + i] = sum;
    }
  }

  // The warps' sums, in their order.
  __syncthreads();
  write_origin_sums<double, Tiles>(sums, own_rows);
  __syncthreads();
  double* const totals = memory + places.totals;
  const unsigned size = sums_of<covariance_type::full>(Columns) * a.components;
  for (unsigned e = threadIdx.x; e < size; e += blockDim.x) {
    unsigned i = 0, j = 0;
    triangle_element(Columns + 1, e / a.components, i, j);
    const double* const from = memory + places.warps + place_of_sum<Tiles>(Columns, e % a.components, i, j);
    double total = 0;
    for (unsigned of = 0; of < warps; ++of) total += from[of * places.warp_size];
    totals[e] = total;
  }
  __syncthreads();
  flush_head(a, memory + places.warps, head, lane);
  for (unsigned e = threadIdx.x; e < size; e += blockDim.x) {
    const unsigned k = e % a.components, sum = e / a.components;
    unsigned i = 0, j = 0;
    triangle_element(Columns + 1, sum, i, j);
    const auto shift = [&](unsigned column) {
      return a.parameters.packed.centres[k * Columns + column] - origin[column];
    };
    lane.add(lane_place<Columns, covariance_type::full>(a, k, sum),
             sum_about_centre<Columns>(totals, a.components, k, i, j, shift));
  }
  __syncthreads();
  lane.empty = false;
}

/// What needs no parameters, while the launch before goes on.
template <int Columns>
__device__ void prepare_origin(const kernel_arguments<double>& a) {
  extern __shared__ __align__(16) unsigned char shared[];
  const origin_places places(Columns, a.components, blockDim.x / 32);
  write_powers(reinterpret_cast<double*>(shared) + places.powers);
}

/// Where components lie so close together that they can share an origin, leaves it and their parameters in `memory`.
template <int Columns>
__device__ bool move_to_origin(const kernel_arguments<double>& a, double* memory) {
  const origin_places places(Columns, a.components, blockDim.x / 32);
  const prepared_components<double>& from = a.parameters.packed;
  double* const origin = memory + places.origin;
  if (threadIdx.x < origin_columns) {
    double sum = 0;
    if (threadIdx.x < Columns) {
      for (unsigned k = 0; k < a.components; ++k) sum += from.centres[k * Columns + threadIdx.x];
    }
    origin[threadIdx.x] = sum / static_cast<double>(a.components);
  }
  __syncthreads();
  bool apart = false;
  const unsigned quads = (a.components + quad - 1) / quad;
  for (unsigned e = threadIdx.x; e < origin_columns * quad * quads; e += blockDim.x) {
    const unsigned k = e / origin_columns, j = e % origin_columns;
    double offset = 0;
    if (k < a.components && j < Columns) {
      offset = from.offsets[k * Columns + j];
      for (unsigned i = 0; i <= j; ++i) {
        offset += from.factors[(k * Columns + i) * Columns + j] * (origin[i] - from.centres[k * Columns + i]);
      }
      offset *= root_half_log2_e;
      apart = apart || !(fabs(offset) <= most_origin_distance);
    }
    memory[places.offsets + k * origin_offset_stride + j] = offset;
  }
  for (unsigned e = threadIdx.x; e < 64 * quad_factors * quads; e += blockDim.x) {
    const unsigned thread = e % 64 / 2, number = e / 64 % quad_factors, k = e / (64 * quad_factors) * quad + thread / 8;
    const unsigned i = thread % 4 + (number > 0 ? e % 2 * 4 : 0);
    const unsigned j = 2 * (number > 0 ? number + 1 : e % 2) + thread / 4 % 2;
    const bool inside = k < a.components && i < Columns && j < Columns;
    memory[places.factors + e] = inside ? root_half_log2_e * from.factors[(k * Columns + i) * Columns + j] : 0.0;
  }
  if (threadIdx.x < most_origin_components) {
    const unsigned k = threadIdx.x;
    memory[places.constants + k] = k < a.components ? from.log_constants[k] * log2_e : -INFINITY;
  }
  return __syncthreads_or(apart ? 1 : 0) == 0;
}

/// Adds the groups of a piece that belong to the block's lane, unless components lie apart: then it does nothing. Many:
/// more than origin_components, by a kernel of their own, since in one with them fewer would have registers in memory.
template <int Columns, bool Many>
__device__ bool accumulate_about_origin(const kernel_arguments<double>& a) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const memory = reinterpret_cast<double*>(shared);
  if (*a.parameters.stopped != 0) return true;
  if (!move_to_origin<Columns>(a, memory)) return false;
  lane_sums lane = lane_of_block(a);
  for_each_group(a, [&](std::size_t begin, std::size_t end) {
    const double* const rows = a.rows + begin * Columns;
    const double* const weights = a.weights == nullptr ? nullptr : a.weights + begin;
    const auto count = static_cast<unsigned>(end - begin);
    if constexpr (Many) {
      if (keeps_apart<Columns, 3> && a.components <= origin_components + 2) {
        add_group_about_origin<Columns, 3, keeps_apart<Columns, 3> ? 2 : 0>(a, memory, rows, weights, count, lane);
      } else if (a.components <= 3 * quad) {
        add_group_about_origin<Columns, 3>(a, memory, rows, weights, count, lane);
      } else {
        add_group_about_origin<Columns, 4>(a, memory, rows, weights, count, lane);
      }
    } else if (a.components <= quad) {
      add_group_about_origin<Columns, 1>(a, memory, rows, weights, count, lane);
    } else {
      add_group_about_origin<Columns, 2>(a, memory, rows, weights, count, lane);
    }
  });
  finish_lane(a, lane);
  return true;
}

}  // namespace shoal::gmm::few_columns
