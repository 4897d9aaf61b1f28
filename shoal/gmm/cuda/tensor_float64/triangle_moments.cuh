// Moments of full covariances of 65 to 128 columns of float64 rows: Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r. A
// component's triangle lies in the registers of a block, an equal share of its tiles in each warp's.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

template <int Eights>
struct triangle_stage {
  static constexpr int width = 8 * Eights;
  static constexpr int stride = padded(width);
  double rows[step * stride];  // x − c
  double responsibilities[step];
};

/// The tiles of 16 × 8 on and above the diagonal, part after part of 16 rows: warp `Warp` has those of a range.
template <int Eights, int Warp>
struct triangle_share {
  static constexpr int parts = Eights / 2;
  static_assert(Eights % 2 == 0);
  static constexpr int before(int part) { return part * (Eights + 1 - part); }  // tiles of the parts before
  static constexpr int warps = threads / 32;
  static constexpr int first = before(parts) * Warp / warps;
  static constexpr int past = before(parts) * (Warp + 1) / warps;
  static constexpr int count = past - first;
  /// The number of a part's tile of eight columns among the warp's.
  static constexpr int at(int part, int column) { return before(part) + column - 2 * part - first; }
  static constexpr bool has(int part, int column) {
    return column >= 2 * part && at(part, column) >= 0 && at(part, column) < count;
  }
  static constexpr bool has_any(int part) { return before(part + 1) > first && before(part) < past; }
  static constexpr bool reads(int column) {
    bool read = false;
    for (int part = 0; part < parts; ++part) read = read || has(part, column);
    return read;
  }
};

template <int Eights, int Warp>
__device__ __forceinline__ void sum_triangle(const kernel_layout& layout, const row_chunk<double>& chunk,
                                             const prepared_components<double>& parameters, const row_terms& terms,
                                             const lane_plan& plan, triangle_stage<Eights>* stages) {
  using share = triangle_share<Eights, Warp>;
  using stage_type = triangle_stage<Eights>;
  constexpr int own_numbers = step * stage_type::width / threads;
  static_assert(own_numbers * threads == step * stage_type::width);
  const unsigned d = layout.columns, k = blockIdx.y;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
  const double* const centres = parameters.centres + std::size_t{k} * d;
  const double* const responsibilities = terms.values + k * terms.stride;

  // The numbers of a step that the thread loads: row and column of each, and the column's centre.
  const auto row_of = [](int e) { return (threadIdx.x + e * threads) / stage_type::width; };
  const auto column_of = [](int e) { return (threadIdx.x + e * threads) % stage_type::width; };
  double centre[own_numbers];
#pragma unroll
  for (int e = 0; e < own_numbers; ++e) centre[e] = column_of(e) < d ? centres[column_of(e)] : 0;

  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[share::count][4] = {};
    double first[share::parts][2] = {}, weight = 0;
    double numbers[own_numbers], responsibility = 0;
    // Nothing is done with them before there is room, since that would wait for memory.
    const auto load = [&](std::size_t begin) {
#pragma unroll
      for (int e = 0; e < own_numbers; ++e) {
        const std::size_t row = begin + row_of(e);
        numbers[e] = row < section.end && column_of(e) < d ? chunk.rows[row * d + column_of(e)] : centre[e];
      }
      if (threadIdx.x < step)
        responsibility = begin + threadIdx.x < section.end ? responsibilities[begin + threadIdx.x] : 0;
    };
    load(section.begin);
    unsigned turn = 0;
    for (std::size_t begin = section.begin; begin < section.end; begin += step, turn ^= 1) {
      stage_type& stage = stages[turn];
#pragma unroll
      for (int e = 0; e < own_numbers; ++e)
        stage.rows[row_of(e) * stage_type::stride + column_of(e)] = numbers[e] - centre[e];
      if (threadIdx.x < step) stage.responsibilities[threadIdx.x] = responsibility;
      __syncthreads();  // one barrier a step: the other stage was read before the last one
      if (begin + step < section.end) load(begin + step);
#pragma unroll
      for (int half = 0; half < step; half += 8) {
        const double* const from = stage.rows + (half + place) * stage_type::stride + group;
        const double near = stage.responsibilities[half + place], far = stage.responsibilities[half + place + 4];
        if (Warp == 0) weight += near + far;
        double z[Eights][2];
#pragma unroll
        for (int n = 0; n < Eights; ++n) {
          if (!share::reads(n)) continue;
          z[n][0] = from[8 * n];
          z[n][1] = from[8 * n + 4 * stage_type::stride];
        }
#pragma unroll
        for (int part = 0; part < share::parts; ++part) {
          if (!share::has_any(part)) continue;
          const double a[4] = {near * from[16 * part], near * from[16 * part + 8],
                               far * from[16 * part + 4 * stage_type::stride],
                               far * from[16 * part + 8 + 4 * stage_type::stride]};
          if (share::has(part, 2 * part)) {
            first[part][0] += a[0] + a[2];
            first[part][1] += a[1] + a[3];
          }
#pragma unroll
          for (int n = 0; n < Eights; ++n) {
            if (share::has(part, n)) multiply_add(product[share::at(part, n)], a, z[n]);
          }
        }
      }
    }
    __syncthreads();  // the stages have been read
    if (blockIdx.y == 0) add_score(terms, section, lane);

    double* const component = lane + layout.header + std::size_t{k} * layout.component_size;
    if (Warp == 0) {
      weight += __shfl_xor_sync(~0U, weight, 1);
      weight += __shfl_xor_sync(~0U, weight, 2);
      if (threadIdx.x == 0) component[layout.weight] += weight;
    }
#pragma unroll
    for (int part = 0; part < share::parts; ++part) {
      if (!share::has_any(part)) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = 16 * part + 8 * half + group;
        double sum = first[part][half];
        sum += __shfl_xor_sync(~0U, sum, 1);
        sum += __shfl_xor_sync(~0U, sum, 2);
        if (row >= d) continue;
        // The triangle of (x − c, 1), whose last column holds the first moments.
        double* const triangle = component + statistics_layout::triangle_row(d + 1, row);
        if (share::has(part, 2 * part) && place == 0) triangle[d] += sum;
#pragma unroll
        for (int n = 0; n < Eights; ++n) {
          if (!share::has(part, n)) continue;
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = 8 * n + 2 * place + e;
            if (column >= row && column < d) triangle[column] += product[share::at(part, n)][2 * half + e];
          }
        }
      }
    }
  }
}

/// A block for each component and each lane.
template <int Eights>
__global__ void __launch_bounds__(threads, 1)
    triangle_moments(const kernel_layout layout, const __grid_constant__ row_chunk<double> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     const lane_plan plan, const int* stopped) {
  if (*stopped != 0) return;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const stages = reinterpret_cast<triangle_stage<Eights>*>(memory);
  const auto sum = [&]<int Warp>(std::integral_constant<int, Warp>) {
    sum_triangle<Eights, Warp>(layout, chunk, parameters, terms, plan, stages);
  };
  static_assert(threads / 32 == 8);
  switch (threadIdx.x / 32) {  // all ways pass the same barriers
    case 0:
      return sum(std::integral_constant<int, 0>());
    case 1:
      return sum(std::integral_constant<int, 1>());
    case 2:
      return sum(std::integral_constant<int, 2>());
    case 3:
      return sum(std::integral_constant<int, 3>());
    case 4:
      return sum(std::integral_constant<int, 4>());
    case 5:
      return sum(std::integral_constant<int, 5>());
    case 6:
      return sum(std::integral_constant<int, 6>());
    default:
      return sum(std::integral_constant<int, 7>());
  }
}

template <int Eights>
void launch_triangle_moments(const kernel_layout& layout, const row_chunk<double>& chunk,
                             const prepared_parameters<double>& parameters, const row_terms& terms,
                             const lane_plan& plan, cudaStream_t stream) {
  constexpr int bytes = 2 * sizeof(triangle_stage<Eights>);
  cuda::check(cudaFuncSetAttribute(triangle_moments<Eights>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  triangle_moments<Eights><<<dim3(1, layout.components, plan.lanes), threads, bytes, stream>>>(
      layout, chunk, parameters.in_double, terms, plan, parameters.stopped);
  cuda::check_launch("triangle_moments");
}

}  // namespace shoal::gmm::tensor_float64
