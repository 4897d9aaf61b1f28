// What a group of four warps does with its rows: log-densities by products of float16 terms, and from these
// responsibilities times weights as the moments' operands.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_density_stage.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_stretches.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

// What the warps of a group tell each other about its rows.
template <class Shape>
struct half_density_notes {
  double scores[4][2];
  float greatest[4];
  int far[4];
  float weights[4][Shape::components];
  float norms[Shape::spherical ? 4 : 1][Shape::components];
  int last;  // whether the group is the last that comes with a stretch
};

/// Sums over the rows of a warp of a number for each component and row. A thread has those of components 8 n + 2 t and
/// + 1 for all n, and gets the sums for its own part of these: n = g · Eights / 8 and those that follow.
template <int Eights>
__device__ void sum_warp_rows(float (&pairs)[Eights][2]) {
  const unsigned group = threadIdx.x % 32 / 4;
#pragma unroll
  for (int mask = 4, width = Eights / 2; mask >= 1; mask /= 2, width /= 2) {
    const bool upper = (group & static_cast<unsigned>(mask)) != 0;
    if (width >= 1) {
#pragma unroll
      for (int n = 0; n < width; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const float given = upper ? pairs[n][e] : pairs[n + width][e];
          const float kept = upper ? pairs[n + width][e] : pairs[n][e];
          pairs[n][e] = kept + __shfl_xor_sync(~0U, given, 4 * mask);
        }
      }
    } else {
#pragma unroll
      for (int e = 0; e < 2; ++e) pairs[0][e] += __shfl_xor_sync(~0U, pairs[0][e], 4 * mask);
    }
  }
}

/// What a pass over the rows leaves: responsibilities, where a block has all components, or first what its tile of them
/// knows of each row (component_frame::half_parts) and then, of all tiles together, responsibilities.
enum class half_pass { whole, parts, responsibilities };

/// What a thread of a group has: rows `row[0]` and `row[1]` = row[0] + 8 of the tile, and of components 8 n + 2 place
/// and + 1 number 4 n + 2 part + e of `sums`.
template <class Shape>
struct half_density_rows {
  static constexpr int eights = Shape::components / 8;
  static constexpr int size = 4 * eights;

  int group = static_cast<int>(threadIdx.x) / group_threads;
  int warp = static_cast<int>(threadIdx.x) % group_threads / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int place = static_cast<int>(threadIdx.x) % 4;
  int row = group * static_cast<int>(score_tile_rows) + warp * 16 + lane / 4;
  int shift;  // of the thread's rows in their lines

  split_rows<Shape::products> split[2];
  float sums[size] = {};
  float totals[Shape::products == 3 ? size : 1];
  float carries[Shape::products == 3 ? size : 1];  // what totals have too much
  float squares[2];
  double norm[2];

  __device__ explicit half_density_rows(unsigned columns)
      : shift(static_cast<int>(static_cast<unsigned>(row) * columns % 4)) {}

  __device__ void begin() {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if constexpr (Shape::products == 3) totals[i] = carries[i] = 0;
    }
    squares[0] = squares[1] = 0;
    norm[0] = norm[1] = 0;
  }

  /// Adds a stage's columns, to sums that are begun anew. Terms are made beside the products of those before, which
  /// may still run in the end; `leave` is called when those of the stage before have ended.
  template <class Leave>
  __device__ void multiply_stage(const half_density_stage<Shape>& stage, bool anew, const Leave& leave) {
#pragma unroll
    for (int step = 0; step < half_steps; ++step) {
      const float4* const units = reinterpret_cast<const float4*>(stage.units + step * frame_step + place * 4);
      const float4 near = units[0], next = units[1];
      float z[2][4];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float4 x = half_row_four(stage, step, row + 8 * part, place * 4, shift);
        z[part][0] = fmaf(x.x, near.x, near.y);
        z[part][1] = fmaf(x.y, near.z, near.w);
        z[part][2] = fmaf(x.z, next.x, next.y);
        z[part][3] = fmaf(x.w, next.z, next.w);
      }
#pragma unroll
      for (int feature = 0; feature < Shape::features; ++feature) {
        split_rows<Shape::products>& own = split[Shape::features == 2 ? feature : step];
        // Those before the last read what is now made again.
        cuda::wait_for_products<1>();
        if (step * Shape::features + feature == 1) leave();
        own.make(z);
        const auto operand = [&](int term) {
          return cuda::describe(cuda::shared_address(stage.operands[step][term][feature]), tensor::row_stride);
        };
        multiply_terms<Shape::products>(sums, own, operand(0), operand(Shape::terms - 1),
                                        anew && step == 0 && feature == 0 ? 0 : 1);
        if (feature == 0) {
          square(z);
#pragma unroll
          for (int part = 0; part < 2; ++part) squares[part] += (z[part][0] + z[part][1]) + (z[part][2] + z[part][3]);
        }
      }
    }
  }

  /// From the tensor cores' sums on: to pairs of float32 numbers, which take half as long as float64. With one product
  /// these go on for all columns.
  __device__ void flush() {
#pragma unroll
    for (int i = 0; i < size; ++i) {
      if constexpr (Shape::products == 3) {
        const float more = sums[i] - carries[i], total = totals[i] + more;
        carries[i] = (total - totals[i]) - more;
        totals[i] = total;
      }
    }
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      norm[part] += static_cast<double>(squares[part]);
      squares[part] = 0;
    }
  }

  /// Joins the sums of all stretches of columns; false in all groups but the last that comes with one.
  __device__ bool join(const component_frame& frame, std::size_t first_row, std::size_t count,
                       half_density_notes<Shape>& notes);

  /// Log-densities to responsibilities times weights, split and scaled, and the tile's part of the score.
  __device__ void finish(unsigned columns, const row_chunk<float>& chunk, std::size_t first_row,
                         const component_frame& frame, const row_terms& terms, double log_shift, half_pass pass,
                         half_density_notes<Shape>& notes);

 private:
  // Of the block's tile.
  __device__ unsigned first_component() const { return blockIdx.y * Shape::components; }
  __device__ void write_operand(std::uint16_t* to, float scale0, float scale1) const;
  __device__ void note_sums(float (&of_warp)[Shape::components], float factor0, float factor1) const;
  __device__ void add_constants(const component_frame& frame);
  __device__ float (&high_parts())[size] {
    if constexpr (Shape::products == 3) {
      return totals;
    } else {
      return sums;
    }
  }
};

// Σ over the warp's rows of `sums` times a factor of each of the thread's two rows.
template <class Shape>
__device__ void half_density_rows<Shape>::note_sums(float (&of_warp)[Shape::components], float factor0,
                                                    float factor1) const {
  float pairs[eights][2];
#pragma unroll
  for (int n = 0; n < eights; ++n) {
#pragma unroll
    for (int e = 0; e < 2; ++e) pairs[n][e] = fmaf(sums[4 * n + e], factor0, sums[4 * n + 2 + e] * factor1);
  }
  sum_warp_rows(pairs);
  constexpr int own = eights >= 8 ? eights / 8 : 1;
  const int first = lane / 4 * eights / 8;
#pragma unroll
  for (int n = 0; n < own; ++n) {
    *reinterpret_cast<float2*>(of_warp + 8 * (first + n) + 2 * place) = make_float2(pairs[n][0], pairs[n][1]);
  }
}

// A core matrix has eight components of eight rows each: pairs of components of a row become pairs of rows.
template <class Shape>
__device__ void half_density_rows<Shape>::write_operand(std::uint16_t* to, float scale0, float scale1) const {
  constexpr int blocks = Shape::components > 64 ? 2 : 1, in_block = eights / blocks;
  constexpr int operand = 128 * in_block;  // of a step and a term
#pragma unroll
  for (int n = 0; n < eights; ++n) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float scale = part == 0 ? scale0 : scale1;
      std::uint32_t high, low = 0;
      if constexpr (Shape::terms == 2) {
        tensor::split(sums[4 * n + 2 * part] * scale, sums[4 * n + 2 * part + 1] * scale, high, low);
      } else {
        high = tensor::bits_of(__floats2half2_rn(sums[4 * n + 2 * part] * scale, sums[4 * n + 2 * part + 1] * scale));
      }
      std::uint16_t* const matrix =
          to + (n / in_block * 4 + warp) * (Shape::terms * operand) + (2 * (n % in_block) + part) * 64 + 2 * lane;
      *reinterpret_cast<std::uint32_t*>(matrix) = transposed(high);
      if constexpr (Shape::terms == 2) *reinterpret_cast<std::uint32_t*>(matrix + operand) = transposed(low);
    }
  }
}

// What products do not have. Log-densities become pairs, a total and what it has too little, or with one product stay
// in `sums`.
template <class Shape>
__device__ void half_density_rows<Shape>::add_constants(const component_frame& frame) {
  if constexpr (Shape::products != 3) {
#pragma unroll
    for (int n = 0; n < eights; ++n) {
      const float4 constant =
          *reinterpret_cast<const float4*>(frame.half_constants + first_component() + 8 * n + 2 * place);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[4 * n + i] += i % 2 == 0 ? constant.x : constant.z;
      if constexpr (Shape::spherical) {
        const float4 curve =
            *reinterpret_cast<const float4*>(frame.half_curves + first_component() + 8 * n + 2 * place);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& sum = sums[4 * n + i];
          sum = fmaf(i % 2 == 0 ? curve.x : curve.z, static_cast<float>(norm[i / 2]), sum);
        }
      }
    }
    return;
  } else {
    const auto add = [&](int i, float high, float low) {
      const float total = totals[i] + high, taken = total - totals[i];
      const float rest = (totals[i] - (total - taken)) + (high - taken) + low;
      sums[i] = sums[i] + rest;
      totals[i] = total;
    };
#pragma unroll
    for (int i = 0; i < size; ++i) sums[i] = Shape::products == 3 ? -carries[Shape::products == 3 ? i : 0] : 0;
#pragma unroll
    for (int n = 0; n < eights; ++n) {
      const float4 constant =
          *reinterpret_cast<const float4*>(frame.half_constants + first_component() + 8 * n + 2 * place);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        add(4 * n + i, i % 2 == 0 ? constant.x : constant.z, i % 2 == 0 ? constant.y : constant.w);
      }
      if constexpr (Shape::spherical) {
        const float4 curve =
            *reinterpret_cast<const float4*>(frame.half_curves + first_component() + 8 * n + 2 * place);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float high = i % 2 == 0 ? curve.x : curve.z, low = i % 2 == 0 ? curve.y : curve.w;
          const auto near = static_cast<float>(norm[i / 2]);
          const float product = high * near;
          const float rest = fmaf(high, near, -product) + low * near +
                             high * static_cast<float>(norm[i / 2] - static_cast<double>(near));
          add(4 * n + i, product, rest);
        }
      }
    }
  }
}

template <class Shape>
__device__ bool half_density_rows<Shape>::join(const component_frame& frame, std::size_t first_row, std::size_t count,
                                               half_density_notes<Shape>& notes) {
  constexpr unsigned fours = stretch_fours(Shape::components, Shape::products);
  const std::size_t tile = first_row / score_tile_rows + static_cast<std::size_t>(group);
  if (tile * score_tile_rows >= count) return false;  // the whole group
  const joined_stretches joined(frame, tile, fours);
  const auto write = [&](unsigned four, float a, float b, float c, float d) {
    __stcg(joined.at(blockIdx.z, four, fours), make_float4(a, b, c, d));
  };
#pragma unroll
  for (int i = 0; i < size; i += 4) {
    const auto four = static_cast<unsigned>(i / 4);
    const float(&own)[size] = high_parts();
    write(four, own[i], own[i + 1], own[i + 2], own[i + 3]);
    if constexpr (Shape::products == 3) {
      write(eights + four, carries[i], carries[i + 1], carries[i + 2], carries[i + 3]);
    }
  }
  write(fours - 1, __int_as_float(__double2loint(norm[0])), __int_as_float(__double2hiint(norm[0])),
        __int_as_float(__double2loint(norm[1])), __int_as_float(__double2hiint(norm[1])));
  if (!joined.is_last(group, notes.last)) return false;

  float(&sum)[size] = high_parts();
#pragma unroll
  for (int i = 0; i < size; ++i) {
    sum[i] = 0;
    if constexpr (Shape::products == 3) carries[i] = 0;
  }
  norm[0] = norm[1] = 0;
#pragma unroll 1
  for (unsigned stretch = 0; stretch < joined.count; ++stretch) {
    const auto read = [&](unsigned four) { return __ldcg(joined.at(stretch, four, fours)); };
#pragma unroll
    for (int i = 0; i < size; i += 4) {
      const auto four = static_cast<unsigned>(i / 4);
      const float4 next = read(four);
      const float of[4] = {next.x, next.y, next.z, next.w};
      if constexpr (Shape::products == 3) {
        const float4 carried = read(eights + four);
        const float of_carries[4] = {carried.x, carried.y, carried.z, carried.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          // The total rounds off what goes to its carry.
          const float before = sum[i + e], total = before + of[e], taken = total - before;
          carries[i + e] += of_carries[e] - ((before - (total - taken)) + (of[e] - taken));
          sum[i + e] = total;
        }
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) sum[i + e] += of[e];
      }
    }
    const float4 norms = read(fours - 1);
    norm[0] += __hiloint2double(__float_as_int(norms.y), __float_as_int(norms.x));
    norm[1] += __hiloint2double(__float_as_int(norms.w), __float_as_int(norms.z));
  }
  return true;
}

template <class Shape>
__device__ void half_density_rows<Shape>::finish(unsigned columns, const row_chunk<float>& chunk, std::size_t first_row,
                                                 const component_frame& frame, const row_terms& terms, double log_shift,
                                                 half_pass pass, half_density_notes<Shape>& notes) {
  bool far = false;
  float weight[2];
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    norm[part] += __shfl_xor_sync(~0U, norm[part], 1);
    norm[part] += __shfl_xor_sync(~0U, norm[part], 2);
    const std::size_t at = first_row + row + 8 * part;
    const bool inside = at < chunk.count;
    // A comparison that a NaN fails. Every |z| is then in float16's range.
    far = far || (inside && !(norm[part] <= most_half_norm(columns)));
    weight[part] = !inside ? 0.0F : (chunk.weights == nullptr ? 1.0F : chunk.weights[at]);
  }
  add_constants(frame);
  float most[2] = {-INFINITY, -INFINITY};
  float sum[2] = {};
  const auto& greater = high_parts();
#pragma unroll
  for (int part = 0; part < 2; ++part) {
#pragma unroll
    for (int i = 0; i < size / 2; ++i) most[part] = fmaxf(most[part], greater[i / 2 * 4 + 2 * part + i % 2]);
    most[part] = fmaxf(most[part], __shfl_xor_sync(~0U, most[part], 1));
    most[part] = fmaxf(most[part], __shfl_xor_sync(~0U, most[part], 2));
    const std::size_t of_row = first_row + row + 8 * part;
    float2 of_all = make_float2(most[part], 1);
    if (pass == half_pass::responsibilities && of_row < chunk.count) of_all = frame.half_parts[of_row];
    most[part] = of_all.x;
#pragma unroll
    for (int i = 0; i < size / 2; ++i) {
      const int at = i / 2 * 4 + 2 * part + i % 2;
      // An empty component's is not a number, and counts as nothing.
      float ratio = greater[at] - most[part];
      if constexpr (Shape::products == 3) ratio += sums[at];
      const float exponential = Shape::products == 3 ? expf(ratio) : __expf(ratio);
      sums[at] = ratio >= -static_cast<float>(negligible_log_ratio<float>) ? exponential : 0.0F;
      sum[part] += sums[at];
    }
    sum[part] += __shfl_xor_sync(~0U, sum[part], 1);
    sum[part] += __shfl_xor_sync(~0U, sum[part], 2);
    if (pass == half_pass::parts && place == 0 && of_row < chunk.count) {
      frame.half_parts[(1 + blockIdx.y) * frame.part_rows + of_row] = make_float2(most[part], sum[part]);
    }
    if (pass == half_pass::responsibilities) sum[part] = of_all.y;
  }
  if (pass == half_pass::parts) return;

  // A row's part of the score is one thread's.
  double log_likelihood = 0, weights = 0;
  if (place < 2) {
    const float own = place == 0 ? weight[0] : weight[1];
    weights = static_cast<double>(own);
    if (own > 0) {
      const float own_sum = place == 0 ? sum[0] : sum[1];
      const double log_sum =
          Shape::products == 3 ? log(static_cast<double>(own_sum)) : static_cast<double>(logf(own_sum));
      log_likelihood = weights * (static_cast<double>(place == 0 ? most[0] : most[1]) + log_sum + log_shift);
    }
  }
  log_likelihood = cuda::warp_sum(log_likelihood);
  weights = cuda::warp_sum(weights);
  // Of integers: as of floats above zero.
  const int greatest = __reduce_max_sync(~0U, max(__float_as_int(weight[0]), __float_as_int(weight[1])));
  far = __any_sync(~0U, far);
  if (lane == 0) {
    notes.scores[warp][0] = log_likelihood;
    notes.scores[warp][1] = weights;
    notes.greatest[warp] = __int_as_float(greatest);
    notes.far[warp] = far ? 1 : 0;
  }
  meet_group(group);
  const std::size_t tile = first_row / score_tile_rows + group;
  if (tile * score_tile_rows >= chunk.count) return;  // the whole group
  const float greatest_of_all =
      fmaxf(fmaxf(notes.greatest[0], notes.greatest[1]), fmaxf(notes.greatest[2], notes.greatest[3]));
  const int exponent = greatest_of_all > 0 ? ilogbf(greatest_of_all) : 0;
  const float scale = half_scale(exponent), back = 1 / scale;
  // What tiles of components have in common is one's.
  if (blockIdx.y == 0 && warp == 0 && lane < 2) {
    terms.sums[2 * tile + lane] =
        (notes.scores[0][lane] + notes.scores[1][lane]) + (notes.scores[2][lane] + notes.scores[3][lane]);
  }
  if (blockIdx.y == 0 && warp == 0 && lane == 0) {
    frame.far[tile] = notes.far[0] | notes.far[1] | notes.far[2] | notes.far[3];
    frame.exponents[tile] = exponent;
  }
  // Scaled by a power of two before they are multiplied by a weight that may be the least there is.
  const float factor[2] = {weight[0] * scale / sum[0], weight[1] * scale / sum[1]};
  note_sums(notes.weights[warp], factor[0], factor[1]);
  if constexpr (Shape::spherical) {
    note_sums(notes.norms[warp], factor[0] * static_cast<float>(norm[0]), factor[1] * static_cast<float>(norm[1]));
  }
  const std::size_t components_tile = tile * gridDim.y + blockIdx.y;
  write_operand(frame.half_responsibilities + components_tile * (score_tile_rows * Shape::components * Shape::terms),
                factor[0], factor[1]);
  meet_group(group);
  const int own = static_cast<int>(threadIdx.x) % group_threads;
  if (own < Shape::components) {
    const std::size_t at = components_tile * Shape::components + own;
    const auto sum_of = [&](const float(&of)[4][Shape::components]) {
      return ((of[0][own] + of[1][own]) + (of[2][own] + of[3][own])) * back;
    };
    frame.half_weights[at] = sum_of(notes.weights);
    if constexpr (Shape::spherical) frame.half_norms[at] = sum_of(notes.norms);
  }
}

}  // namespace shoal::gmm::tensor_float64
