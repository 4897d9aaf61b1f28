// What a thread does with a tile of rows that are read once: log-densities, responsibilities and moments by products of
// float16 terms.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/half_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/one_pass_rows.cuh>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>
#include <shoal/gmm/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// A thread of a group. Of the log-densities it has rows `row` and `row` + 2 of the tile, under components
/// 8 n + 2 place and + 1 at 4 n + 2 part + e of `sums`; of the moments the same components and, of each set and half,
/// columns 16 warp + lane / 4 + 8 part.
template <class Shape>
struct one_pass_thread {
  static constexpr int eights = Shape::eights;
  static constexpr int size = 4 * eights;

  one_pass_memory<Shape>& memory;
  const std::uint16_t* operands;  // [step][term][feature]
  const float2* units;
  int group = static_cast<int>(threadIdx.x) / group_threads;
  int warp = static_cast<int>(threadIdx.x) % group_threads / 32;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int place = static_cast<int>(threadIdx.x) % 4;
  int row = one_pass_row(warp, lane / 8, lane / 4 % 2);

  float totals[Shape::halves][Shape::sets][size];
  float weight_sums[2 * eights];
  float norm_sums[Shape::spherical ? 2 * eights : 1];

  __device__ void begin_section() {
#pragma unroll
    for (int half = 0; half < Shape::halves; ++half) {
#pragma unroll
      for (int set = 0; set < Shape::sets; ++set) {
#pragma unroll
        for (int i = 0; i < size; ++i) totals[half][set][i] = 0;
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * eights; ++i) {
      weight_sums[i] = 0;
      if constexpr (Shape::spherical) norm_sums[i] = 0;
    }
  }

  // Operands from the first one on.
  __device__ static unsigned long long operand_after(unsigned long long first, int count) {
    return cuda::advance(first, static_cast<unsigned>(count) * Shape::operand * sizeof(std::uint16_t));
  }

  /// Log-densities but for their constants, and ‖z‖².
  __device__ void multiply_columns(const one_pass_rows& rows, int past, int steps, float (&sums)[size],
                                   float (&norm)[2]) {
    split_rows<Shape::products> split[Shape::features];
    norm[0] = norm[1] = 0;
    const unsigned long long first_operand = cuda::describe(cuda::shared_address(operands), tensor::row_stride);
    // Unrolled they take registers that sums need.
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const float4* const unit = reinterpret_cast<const float4*>(units + step * frame_step + place * 4);
      const float4 near = unit[0], next = unit[1];
      float z[2][4];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float4 x = rows.four(row + 2 * part, step * frame_step + 4 * place, past);
        z[part][0] = fmaf(x.x, near.x, near.y);
        z[part][1] = fmaf(x.y, near.z, near.w);
        z[part][2] = fmaf(x.z, next.x, next.y);
        z[part][3] = fmaf(x.w, next.z, next.w);
      }
#pragma unroll
      for (int feature = 0; feature < Shape::features; ++feature) {
        // Those before the last read what is now made again.
        cuda::wait_for_products<Shape::features - 1>();
        split[feature].make(z);
        const unsigned long long high = operand_after(first_operand, step * (Shape::terms * Shape::features) + feature);
        multiply_terms<Shape::products>(sums, split[feature], high,
                                        operand_after(high, (Shape::terms - 1) * Shape::features),
                                        step + feature > 0 ? 1 : 0);
        if (feature == 0) {
          square(z);
#pragma unroll
          for (int part = 0; part < 2; ++part) norm[part] += (z[part][0] + z[part][1]) + (z[part][2] + z[part][3]);
        }
      }
    }
    cuda::wait_for_products<0>();
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      norm[part] += __shfl_xor_sync(~0U, norm[part], 1);
      norm[part] += __shfl_xor_sync(~0U, norm[part], 2);
    }
  }

  /// Log-densities to responsibilities times weights as the moments' operands, and the tile's part of the score.
  /// Returns what takes their scale out; nothing for a tile of far rows, which counts for nothing here.
  __device__ float finish(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                          const component_frame& frame, const row_terms& terms, double log_shift, float (&sums)[size],
                          const float (&norm)[2]) {
    bool far = false;
    float weight[2];
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const std::size_t at = first_row + row + 2 * part;
      const bool inside = at < chunk.count;
      // A comparison that a NaN fails. Every |z| is then in float16's range.
      far = far || (inside && !(norm[part] <= static_cast<float>(most_half_norm(columns))));
      weight[part] = !inside ? 0.0F : (chunk.weights == nullptr ? 1.0F : chunk.weights[at]);
    }
    float most[2] = {-INFINITY, -INFINITY};
    const int known = static_cast<int>(frame.eights);
#pragma unroll
    for (int n = 0; n < eights; ++n) {
      float2 constant = make_float2(-INFINITY, -INFINITY), curve = make_float2(0, 0);
      if (n < known) {
        const float4 two = __ldg(reinterpret_cast<const float4*>(frame.half_constants + 8 * n + 2 * place));
        constant = make_float2(two.x, two.z);
        if constexpr (Shape::spherical) {
          const float4 both = __ldg(reinterpret_cast<const float4*>(frame.half_curves + 8 * n + 2 * place));
          curve = make_float2(both.x, both.z);
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& sum = sums[4 * n + i];
        sum += i % 2 == 0 ? constant.x : constant.y;
        if constexpr (Shape::spherical) sum = fmaf(i % 2 == 0 ? curve.x : curve.y, norm[i / 2], sum);
        most[i / 2] = fmaxf(most[i / 2], sum);
      }
    }
    float sum[2] = {};
    constexpr float log2_of_e = 1.44269504088896341F;
    constexpr float least = -static_cast<float>(negligible_log_ratio<float>) * log2_of_e;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      most[part] = fmaxf(most[part], __shfl_xor_sync(~0U, most[part], 1));
      most[part] = fmaxf(most[part], __shfl_xor_sync(~0U, most[part], 2));
      const float greatest = most[part] * log2_of_e;
#pragma unroll
      for (int i = 0; i < size / 2; ++i) {
        float& own = sums[i / 2 * 4 + 2 * part + i % 2];
        const float logarithm = fmaf(own, log2_of_e, -greatest);
        float power;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(logarithm));
        own = logarithm >= least ? power : 0.0F;
        sum[part] += own;
      }
      sum[part] += __shfl_xor_sync(~0U, sum[part], 1);
      sum[part] += __shfl_xor_sync(~0U, sum[part], 2);
    }

    // A row's part of the score is one thread's; 16 rows are summed in float32.
    float score = 0, own_weight = 0;
    if (place < 2) {
      own_weight = place == 0 ? weight[0] : weight[1];
      if (own_weight > 0) score = own_weight * ((place == 0 ? most[0] : most[1]) + logf(place == 0 ? sum[0] : sum[1]));
    }
    score = cuda::warp_sum(score);
    double weights = static_cast<double>(own_weight);
    if (chunk.weights == nullptr) {
      weights = static_cast<double>(__popc(__ballot_sync(~0U, own_weight > 0)));
    } else {
      weights = cuda::warp_sum(weights);
      // Of integers: as of floats above zero.
      const int greatest = __reduce_max_sync(~0U, max(__float_as_int(weight[0]), __float_as_int(weight[1])));
      if (lane == 0) memory.greatest[warp] = __int_as_float(greatest);
    }
    far = __any_sync(~0U, far);
    if (lane == 0) {
      memory.scores[warp][0] = static_cast<double>(score) + weights * log_shift;
      memory.scores[warp][1] = weights;
      memory.far[warp] = far ? 1 : 0;
    }
    meet_group(group);
    const std::size_t tile = first_row / score_tile_rows;
    if (warp == 0 && lane < 2) {
      terms.sums[2 * tile + lane] =
          (memory.scores[0][lane] + memory.scores[1][lane]) + (memory.scores[2][lane] + memory.scores[3][lane]);
    }
    const int far_of_all = memory.far[0] | memory.far[1] | memory.far[2] | memory.far[3];
    if (warp == 0 && lane == 0) frame.far[tile] = far_of_all;
    if (far_of_all != 0) return 0;
    float scale = 1 << most_half_exponent, back = 1.0F / (1 << most_half_exponent);
    if (chunk.weights != nullptr) {
      const float greatest =
          fmaxf(fmaxf(memory.greatest[0], memory.greatest[1]), fmaxf(memory.greatest[2], memory.greatest[3]));
      scale = half_scale(greatest > 0 ? ilogbf(greatest) : 0);
      back = 1 / scale;
    }
    // Scaled by a power of two before they are multiplied by a weight that may be the least there is.
    const float factor[2] = {__fdividef(weight[0] * scale, sum[0]), __fdividef(weight[1] * scale, sum[1])};
    const float back_norm[2] = {back * norm[0], back * norm[1]};
    std::uint16_t* const to = memory.responsibilities[warp][0] + 2 * lane;
#pragma unroll
    for (int n = 0; n < eights; ++n) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const float r[2] = {sums[4 * n + 2 * part] * factor[part], sums[4 * n + 2 * part + 1] * factor[part]};
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          weight_sums[2 * n + e] = fmaf(r[e], back, weight_sums[2 * n + e]);
          if constexpr (Shape::spherical) {
            norm_sums[2 * n + e] = fmaf(r[e], back_norm[part], norm_sums[2 * n + e]);
          }
        }
        // A core matrix has eight components of eight rows each: pairs of components become pairs of rows.
        std::uint16_t* const matrix = to + (2 * n + part) * 64;
        if constexpr (Shape::terms == 2) {
          std::uint32_t high, low;
          tensor::split(r[0], r[1], high, low);
          *reinterpret_cast<std::uint32_t*>(matrix) = transposed(high);
          *reinterpret_cast<std::uint32_t*>(matrix + Shape::operand) = transposed(low);
        } else {
          *reinterpret_cast<std::uint32_t*>(matrix) = transposed(tensor::bits_of(__floats2half2_rn(r[0], r[1])));
        }
      }
    }
    cuda::publish_to_products();
    meet_group(group);
    return back;
  }

  __device__ void multiply_rows(const one_pass_rows& rows, unsigned columns, float back) {
#pragma unroll
    for (int half = 0; half < Shape::halves; ++half) {
      // Of 32 columns the second half of the products has their squares.
      const int first = Shape::width == 32 ? warp % 2 * 16 : half * 64 + warp * 16;
      const bool squares = Shape::width == 32 && warp >= 2;
      const bool counts = first < static_cast<int>(columns) && !(squares && Shape::spherical);
      const int column = first + lane / 4;
      float2 unit[2];
      unit[0] = units[counts ? column : 0];
      unit[1] = units[counts ? column + 8 : 0];
#pragma unroll
      for (int first_set = 0; first_set < Shape::sets; first_set += Shape::sets_at_once) {
        float sums[Shape::sets_at_once][size];
        split_rows<Shape::products> split[Shape::sets_at_once];
        const unsigned long long first_operand =
            cuda::describe(cuda::shared_address(memory.responsibilities), tensor::row_stride);
#pragma unroll
        for (int step = 0; step < Shape::rows / 16; ++step) {
          float z[2][4] = {};
          if (counts) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              const int row_of_tile = one_pass_row(step, place, i);
              const int swizzle = 4 * rows.swizzle_of(one_pass_row(0, place, i));
              const float* const from = rows.values + row_of_tile * rows.columns;
              z[0][i] = fmaf(from[column ^ swizzle], unit[0].x, unit[0].y);
              z[1][i] = fmaf(from[(column + 8) ^ swizzle], unit[1].x, unit[1].y);
            }
            if (squares || first_set == 1) square(z);
          }
#pragma unroll
          for (int set = 0; set < Shape::sets_at_once; ++set) {
            // Those before the last read what is now made again.
            cuda::wait_for_products<Shape::sets_at_once - 1>();
            split[set].make(z);
            const unsigned long long high = operand_after(first_operand, step * Shape::terms);
            multiply_terms<Shape::products>(sums[set], split[set], high, operand_after(high, Shape::terms - 1),
                                            step > 0 ? 1 : 0);
            if (set + 1 < Shape::sets_at_once) square(z);
          }
        }
        cuda::wait_for_products<0>();
#pragma unroll
        for (int set = 0; set < Shape::sets_at_once; ++set) {
#pragma unroll
          for (int i = 0; i < size; ++i) {
            float& total = totals[half][first_set + set][i];
            total = fmaf(sums[set][i], back, total);
          }
        }
      }
    }
  }

  /// Adds a section's sums to its lane. No other thread adds to the same numbers: the order is kept.
  __device__ void add_to_lane(const kernel_layout& layout, double* lane_sums) {
    const int d = static_cast<int>(layout.columns);
#pragma unroll
    for (int half = 0; half < Shape::halves; ++half) {
#pragma unroll
      for (int set = 0; set < Shape::sets; ++set) {
        const int feature = Shape::width == 32 ? warp / 2 : set;
        if (feature >= Shape::features) continue;
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const int column = (Shape::width == 32 ? warp % 2 * 16 : half * 64 + warp * 16) + lane / 4 + 8 * part;
          if (column >= d) continue;
          double unit = 1 / static_cast<double>(units[column].x);
          if (feature == 1) unit *= unit;
          const unsigned first = 2 * static_cast<unsigned>(place);
          // Component by component from there on, so that no places are known before they are needed.
          double* to = found_anew(lane_sums + layout.header + first * layout.component_size + 1 +
                                  (feature == 1 ? d : 0) + column);
          unsigned left = layout.components > first ? layout.components - first : 0;
#pragma unroll
          for (int n = 0; n < eights; ++n) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
              if (e < static_cast<int>(left)) {
                add_unasked(to + e * layout.component_size,
                            unit * static_cast<double>(totals[half][set][4 * n + 2 * part + e]));
              }
            }
            to = found_anew(to + 8 * layout.component_size);
            left = left > 8 ? left - 8 : 0;
          }
        }
      }
    }
    // Of the weights each thread has those of its own rows.
    auto& notes = reinterpret_cast<one_pass_weights<Shape>&>(memory.responsibilities);
    static_assert(sizeof(notes) <= sizeof(memory.responsibilities));
    meet_group(group);  // the products have ended
#pragma unroll
    for (int i = 0; i < 2 * eights; ++i) {
      for (int distance = 4; distance < 32; distance *= 2) {
        weight_sums[i] += __shfl_xor_sync(~0U, weight_sums[i], distance);
        if constexpr (Shape::spherical) norm_sums[i] += __shfl_xor_sync(~0U, norm_sums[i], distance);
      }
      if (lane < 4) {
        notes.weights[warp][i / 2 * 8 + 2 * place + i % 2] = weight_sums[i];
        if constexpr (Shape::spherical) notes.norms[warp][i / 2 * 8 + 2 * place + i % 2] = norm_sums[i];
      }
    }
    meet_group(group);
    const unsigned component = threadIdx.x % group_threads;
    if (component < Shape::components && component < layout.components) {
      const auto sum_of = [&](const float(&of)[4][Shape::components]) {
        return (static_cast<double>(of[0][component]) + static_cast<double>(of[1][component])) +
               (static_cast<double>(of[2][component]) + static_cast<double>(of[3][component]));
      };
      double* const to = lane_sums + layout.header + component * layout.component_size;
      add_unasked(to + layout.weight, sum_of(notes.weights));
      // Q of a spherical component has its sum in its first place.
      if constexpr (Shape::spherical) {
        const double unit = static_cast<double>(units[0].x);
        add_unasked(to + 1 + d, sum_of(notes.norms) / (unit * unit));
      }
    }
  }
};

}  // namespace shoal::gmm::tensor_float64
