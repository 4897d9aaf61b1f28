// Moments of full covariances of 65 to 128 columns of float64 rows: Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r. Of
// all rows together, and float32 ones too: Σ w (x − c)(x − c)ᵀ alone. A component's triangle lies in the registers of a
// block. Its warps run the same instructions on parts of 16 columns of their own: where each had tiles of its own by
// constants, eight ways of code waited for instructions most of the time.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Rows between two barriers.
inline constexpr int triangle_step = 32;

/// Of a kernel for so many parts of 16 columns, each of which one warp multiplies with itself and the `pairs` − 1 that
/// follow it in a circle: every pair is there, and of an even number the opposite ones are left to half of the warps.
template <int Parts>
struct triangle_shape {
  static constexpr int pairs = Parts / 2 + 1;
  static constexpr int threads = 32 * Parts;
  // Blocks of a multiprocessor, and eights of rows at a time. (300,000, 128, 16) takes 2.995 ms so, 3.06 with one
  // eight, 4.35 with two blocks, and 3.92 with half of the rows between two barriers; 112, 96 and 80 columns 2.38, 1.65
  // and 1.26.
  static constexpr int resident = Parts <= 6 ? 2 : 1;
  static constexpr int unrolled = Parts <= 6 ? 1 : 2;
  static constexpr int width = 16 * Parts;
  static constexpr int stride = padded(width);
  static constexpr int own_numbers = triangle_step * width / threads;  // of a step that a thread loads
  static_assert(threads == 2 * width);
};

template <int Parts>
struct triangle_stage {
  double rows[triangle_step * triangle_shape<Parts>::stride];  // x − c
  double responsibilities[triangle_step];
};

/// A block for each component and each lane. `Total`: second moments of all rows alone, as tied ones lie.
template <class Scalar, int Parts, bool Total>
__global__ void __launch_bounds__(triangle_shape<Parts>::threads, triangle_shape<Parts>::resident)
    triangle_moments(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     const lane_plan plan, const int* stopped) {
  using shape = triangle_shape<Parts>;
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stages = reinterpret_cast<triangle_stage<Parts>*>(memory);
  const unsigned d = layout.columns, k = blockIdx.y;
  const unsigned part = threadIdx.x / 32, group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
  const double* const responsibilities = terms.values + k * terms.stride;

  // What the thread loads is of one column, in every other row.
  const unsigned own_column = threadIdx.x % shape::width, own_row = threadIdx.x / shape::width;
  const bool inside = own_column < d;
  const double centre = inside ? parameters.centres[std::size_t{k} * d + own_column] : 0;
  // What it multiplies: two neighbours of each part, which stand for columns `group` and `group` + 8 of a product.
  unsigned at[shape::pairs];
#pragma unroll
  for (int n = 0; n < shape::pairs; ++n) at[n] = place * shape::stride + (part + n) % Parts * 16 + 2 * group;
  const bool has_last = Parts % 2 == 1 || part < Parts / 2;

  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[shape::pairs][2][4] = {};
    double first[2] = {}, weight = 0;
    Scalar numbers[shape::own_numbers];
    double responsibility = 0;
    // Nothing is done with them before there is room, since that would wait for memory.
    const auto load = [&](std::size_t begin) {
      const Scalar* const from = chunk.rows + (begin + own_row) * d + own_column;
#pragma unroll
      for (int e = 0; e < shape::own_numbers; ++e) {
        const bool there = inside && begin + own_row + 2 * e < section.end;
        numbers[e] = there ? from[std::size_t{2} * e * d] : Scalar{0};
      }
      if (threadIdx.x < triangle_step) {
        const bool there = begin + threadIdx.x < section.end;
        if constexpr (Total) {
          responsibility = there ? 1 : 0;
          if (there && chunk.weights != nullptr)
            responsibility = static_cast<double>(chunk.weights[begin + threadIdx.x]);
        } else {
          responsibility = there ? responsibilities[begin + threadIdx.x] : 0;
        }
      }
    };
    load(section.begin);
    unsigned turn = 0;
    for (std::size_t begin = section.begin; begin < section.end; begin += triangle_step, turn ^= 1) {
      triangle_stage<Parts>& stage = stages[turn];
#pragma unroll
      for (int e = 0; e < shape::own_numbers; ++e) {
        stage.rows[(own_row + 2 * e) * shape::stride + own_column] = static_cast<double>(numbers[e]) - centre;
      }
      if (threadIdx.x < triangle_step) {
        stage.responsibilities[threadIdx.x] = responsibility;
        if constexpr (!Total) weight += responsibility;
      }
      __syncthreads();  // one barrier a step: the other stage was read before the last one
      if (begin + triangle_step < section.end) load(begin + triangle_step);
#pragma unroll shape::unrolled
      for (int eight = 0; eight < triangle_step; eight += 8) {
        const double* const from = stage.rows + eight * shape::stride;
        const double near = stage.responsibilities[eight + place], far = stage.responsibilities[eight + place + 4];
        double2 z[shape::pairs][2];
#pragma unroll
        for (int n = 0; n < shape::pairs; ++n) {
          z[n][0] = *reinterpret_cast<const double2*>(from + at[n]);
          z[n][1] = *reinterpret_cast<const double2*>(from + at[n] + 4 * shape::stride);
        }
        const double a[4] = {near * z[0][0].x, near * z[0][0].y, far * z[0][1].x, far * z[0][1].y};
        if constexpr (!Total) {
          first[0] += a[0] + a[2];
          first[1] += a[1] + a[3];
        }
#pragma unroll
        for (int n = 0; n < shape::pairs; ++n) {
          if (n + 1 == shape::pairs && !has_last) break;
          const double even[2] = {z[n][0].x, z[n][1].x}, odd[2] = {z[n][0].y, z[n][1].y};
          multiply_add(product[n][0], a, even);
          multiply_add(product[n][1], a, odd);
        }
      }
    }
    __syncthreads();  // the stages have been read
    if (!Total && blockIdx.y == 0) add_score(terms, section, lane);

    double* component = lane + (Total ? layout.shared : layout.header + std::size_t{k} * layout.component_size);
    unsigned own_part = part;
    // The compiler knows nothing of these: it found the places of all sums before the rows passed, and had no registers
    // for them.
    asm volatile("" : "+l"(component), "+r"(own_part));
    if (!Total && threadIdx.x < triangle_step) {
      weight = cuda::warp_sum(weight);
      if (threadIdx.x == 0) component[layout.weight] += weight;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const unsigned i = 16 * own_part + 2 * group + half;
      double sum = first[half];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (i >= d) continue;
      // The triangle of (x − c, 1), whose last column holds the first moments; of x − c alone for `Total`.
      const unsigned order = Total ? d : d + 1;
      if (!Total && place == 0) component[statistics_layout::triangle_row(order, i) + d] += sum;
#pragma unroll
      for (int n = 0; n < shape::pairs; ++n) {
        if (n + 1 == shape::pairs && !has_last) break;
#pragma unroll
        for (int odd = 0; odd < 2; ++odd) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned j = (own_part + n) % Parts * 16 + 2 * (2 * place + e) + odd;
            if (j >= d || (n == 0 && j < i)) continue;
            const std::size_t row = statistics_layout::triangle_row(order, min(i, j));
            component[row + max(i, j)] += product[n][odd][2 * half + e];
          }
        }
      }
    }
  }
}

template <class Scalar, int Parts, bool Total = false>
void launch_triangle_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                             const lane_plan& plan, cudaStream_t stream) {
  constexpr int bytes = 2 * sizeof(triangle_stage<Parts>);
  cuda::launch_in_turn(triangle_moments<Scalar, Parts, Total>, dim3(1, Total ? 1 : layout.components, plan.lanes),
                       triangle_shape<Parts>::threads, bytes, stream, layout, chunk, parameters.in_double, terms, plan,
                       parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
