// Full covariances' sums in float64 where components lie near each other, on tensor cores: rows are moved to one
// origin, so that y = Uᵀz + b is a product for each component, and moments are a product of responsibilities with
// features of the rows. A warp does both for 32 rows after the other, and waits for no other warp before its last row.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/gmm/cuda/few_columns/kernels.hpp>
#include <shoal/gmm/cuda/few_columns/origin_features.cuh>
#include <shoal/gmm/cuda/few_columns/origin_float64.cuh>
#include <shoal/gmm/cuda/few_columns/origin_places.hpp>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// The tiles of a shard's rows that are a warp's: tile t of the shard is that of block t mod blocks, and there of warp
/// t / blocks mod warps, so that no two warps have more than one tile between them. Here they count from the piece's
/// first one.
struct origin_tiles {
  std::size_t first_row;  ///< of the shard in the piece
  std::size_t rows;       ///< from there on
  std::size_t step;
  std::size_t next;  ///< tile

  __device__ explicit origin_tiles(const kernel_arguments<double>& a) {
    const unsigned warps = blockDim.x / 32, warp = threadIdx.x / 32;
    const std::size_t shard_rows = a.shard_units * cuda::piece_unit;
    first_row = blockIdx.y * shard_rows;
    rows = first_row < a.count ? min(a.count - first_row, shard_rows) : 0;
    step = std::size_t{gridDim.x} * warps;
    const std::size_t passed = a.first_unit * (cuda::piece_unit / origin_tile_rows) % step;
    const std::size_t own = blockIdx.x + std::size_t{gridDim.x} * warp;
    next = own >= passed ? own - passed : own + step - passed;
  }
  /// Of the next tile, at most; none: there is no such tile.
  __device__ unsigned count() const {
    const std::size_t begin = next * origin_tile_rows;
    return begin < rows ? static_cast<unsigned>(min(rows - begin, std::size_t{origin_tile_rows})) : 0;
  }
  __device__ std::size_t row() const { return first_row + next * origin_tile_rows; }
};

/// A warp's rows, sixteens of which are first factors: a(g, q) and so on, of [sixteen][2 part + half].
template <int Columns>
struct warp_rows {
  double x[2][4];

  /// `count` rows of a tile, of which there is one at least, and the first of them for those beyond.
  __device__ void load(const double* tile, unsigned count) {
    const unsigned g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    const auto read = [&](unsigned i, unsigned half, const double* from) {
      x[i][half] = __ldg(from);
      x[i][2 + half] = Columns == 8 || q + 4 < Columns ? __ldg(from + 4) : 0.0;
    };
    if (count == origin_tile_rows) {
      tile += g * Columns + q;
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) read(i, half, tile + (16 * i + 8 * half) * Columns);
      }
    } else {
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
          const unsigned row = 16 * i + 8 * half + g;
          read(i, half, tile + (row < count ? row : 0) * Columns + q);
        }
      }
    }
  }
};

/// From products to other operations and back takes a warp 20 cycles, and compilers mix them. Where there are other
/// products meanwhile and registers for a quad's y, a branch that is always taken keeps them apart: (2²⁰, 8, 10) takes
/// 0.103 ms instead of 0.107, 16 components 0.123 instead of 0.134, but four 0.071 instead of 0.060.
template <int Columns, int Quads>
inline constexpr bool keeps_apart = Columns == 8 && Quads >= 3;

/// Whether each of the rows has a component of this thread whose density is far from underflow: −log2 of it, whose
/// upper half it is told by, is not negative. Those that fill up a quad are not near, so that one quad has none for
/// sure.
template <int Quads>
__device__ bool has_near_component(const double (&terms)[4][Quads]) {
  constexpr unsigned past = 0x408E0000;  // of 960
  unsigned farthest = Quads == 1 ? past : 0;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    auto least = static_cast<unsigned>(__double2hiint(terms[r][0]));
#pragma unroll
    for (int k = 1; k < Quads; ++k) least = min(least, static_cast<unsigned>(__double2hiint(terms[r][k])));
    farthest = max(farthest, least);
  }
  return farthest < past;
}

/// What a warp has summed.
template <int Columns, int Quads, int Rest>
struct origin_totals {
  static constexpr int tiles = (Quads + 1) / 2, products = Rest > 0 ? tiles - 1 : tiles;
  origin_sums<double, tiles> sums = {};
  double rest[2 * feature_tiles][Rest > 0 ? Rest : 1] = {};
  row_sums head;
  logarithms densities;

  /// Calls use(number) for each number that goes on from one launch to the next.
  template <class Use>
  __device__ void for_each(const Use& use) {
#pragma unroll
    for (unsigned t = 0; t < feature_tiles; ++t) {
#pragma unroll
      for (int tile = 0; tile < products; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) use(sums[t][tile][i]);
      }
    }
    if constexpr (Rest > 0) {
#pragma unroll
      for (unsigned feature = 0; feature < 2 * feature_tiles; ++feature) {
#pragma unroll
        for (int i = 0; i < Rest; ++i) use(rest[feature][i]);
      }
    }
    use(head.log_likelihood);
    use(head.weight);
    use(densities.product);
    double exponent = densities.exponent;
    use(exponent);
    densities.exponent = static_cast<int>(exponent);
  }
};

/// Adds the rows of a warp's tiles, of which the first one has been loaded, to `totals`. Quads: of components. Rest: of
/// components, are summed by threads, not by a product whose other columns would be zero.
template <int Columns, int Quads, int Rest>
__device__ void add_about_origin(const kernel_arguments<double>& a, double* memory, origin_tiles tiles,
                                 warp_rows<Columns>& next, origin_totals<Columns, Quads, Rest>& totals) {
  constexpr int Tiles = origin_totals<Columns, Quads, Rest>::tiles;
  constexpr int Products = origin_totals<Columns, Quads, Rest>::products;
  static_assert(Rest <= 2);
  const origin_places places(Columns, a.components, blockDim.x / 32);
  const unsigned warp = threadIdx.x / 32;
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

  auto& sums = totals.sums;
  auto& rest_sums = totals.rest;
  row_sums& head = totals.head;
  logarithms& densities = totals.densities;
  unsigned count = tiles.count();
#pragma unroll 1
  while (count > 0) {
    const double* const weights = a.weights == nullptr ? nullptr : a.weights + tiles.row();
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
    tiles.next += tiles.step;
    const unsigned next_count = tiles.count();
    if (next_count > 0) next.load(a.rows + tiles.row() * Columns, next_count);

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

    // Of rows r = q this thread finds what all four need. Where one has no component of a row near enough by itself,
    // the greatest density of each becomes 1.
    double own_moved = 0;
    const bool moved = __any_sync(~0U, !has_near_component(terms));
    if (moved) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const double least = exact_least(terms[r]);
#pragma unroll
        for (int k = 0; k < Quads; ++k) terms[r][k] -= least;
        own_moved = q == r ? least : own_moved;
      }
    }
    double sum[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int k = 0; k < Quads; ++k) {
        terms[r][k] = power_of_less(terms[r][k], powers);
        sum[r] = k == 0 ? terms[r][k] : sum[r] + terms[r][k];
      }
    }
    double own_sum = own_sum_of_four(sum);
    const bool rare = !is_usual_sum(own_sum);
    const unsigned own_row = 8 * q + g;
    double own_weight = own_row < count ? 1.0 : 0.0;
    if (weights != nullptr && own_row < count) own_weight = weights[own_row];
    if (__any_sync(~0U, rare)) {
      // A row that weighs nothing may have a density of zero, and terms that are no numbers.
      const bool nothing = own_weight == 0 && rare;
      own_moved = nothing ? 0.0 : own_moved;
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
    if (moved) head.log_likelihood -= own_weight * own_moved;
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
    count = next_count;
  }
}

}  // namespace shoal::gmm::few_columns
