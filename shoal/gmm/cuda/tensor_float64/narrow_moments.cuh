// Moments of full covariances of at most 64 columns: Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r. Components share
// the rows in shared memory, and a component's triangle lies in the registers of one warp, or of two.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Rows between two barriers, and how many times as many are in hand.
inline constexpr int narrow_step = 32;
inline constexpr int narrow_stages = 3;

/// Two warps have equal parts of the triangle: the first and last 16 rows of 64, the first and the others of 48.
constexpr int warps_of_component(int sixteens) { return sixteens <= 2 ? 1 : 2; }
constexpr int block_components(int sixteens) { return threads / 32 / warps_of_component(sixteens); }
constexpr int sixteens_of(std::size_t columns) { return static_cast<int>((columns + 15) / 16); }

template <int Sixteens>
struct row_stage {
  static constexpr int width = 16 * Sixteens;
  static constexpr int stride = padded(width);
  double rows[narrow_step * stride];
  double responsibilities[block_components(Sixteens) * narrow_step];
};

template <int Sixteens>
__device__ void fetch_rows(const row_chunk<double>& chunk, unsigned columns, unsigned components,
                           const row_terms& terms, unsigned first_component, std::size_t begin, std::size_t end,
                           row_stage<Sixteens>& stage) {
  using stage_type = row_stage<Sixteens>;
  for (unsigned e = threadIdx.x; e < narrow_step * stage_type::width; e += threads) {
    const unsigned r = e / stage_type::width, column = e % stage_type::width;
    const bool inside = begin + r < end && column < columns;
    __pipeline_memcpy_async(&stage.rows[r * stage_type::stride + column],
                            inside ? chunk.rows + (begin + r) * columns + column : chunk.rows, sizeof(double),
                            inside ? 0 : sizeof(double));
  }
  for (unsigned e = threadIdx.x; e < block_components(Sixteens) * narrow_step; e += threads) {
    const unsigned k = first_component + e / narrow_step;
    const std::size_t row = begin + e % narrow_step;
    const bool inside = row < end && k < components;
    __pipeline_memcpy_async(&stage.responsibilities[e], inside ? terms.values + k * terms.stride + row : terms.values,
                            sizeof(double), inside ? 0 : sizeof(double));
  }
}

/// The parts of 16 rows of the triangle that a warp has: those of the first kind begin with part 0.
template <int Sixteens, int Warp>
struct own_parts {
  static constexpr int count = warps_of_component(Sixteens) == 1 ? Sixteens : (Sixteens == 4 ? 2 : 1 + Warp);
  static constexpr int part(int i) {
    if (warps_of_component(Sixteens) == 1) return i;
    if (Sixteens == 4) return Warp == 0 ? 3 * i : 1 + i;
    return Warp + i;
  }
};

template <int Sixteens, int Warp>
__device__ void sum_component(const kernel_layout& layout, const row_chunk<double>& chunk,
                              const prepared_components<double>& parameters, const row_terms& terms,
                              const lane_plan& plan, row_stage<Sixteens>* stages) {
  using stage_type = row_stage<Sixteens>;
  using parts = own_parts<Sixteens, Warp>;
  constexpr int eights = 2 * Sixteens;
  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const unsigned first_component = blockIdx.y * block_components(Sixteens);
  const unsigned own = threadIdx.x / 32 / warps_of_component(Sixteens), k = first_component + own;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;

  double centre[eights];
#pragma unroll
  for (int n = 0; n < eights; ++n) {
    const unsigned column = 8 * n + group;
    centre[n] = k < layout.components && column < d ? parameters.centres[std::size_t{k} * d + column] : 0;
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[parts::count][eights][4] = {};
    double first[parts::count][2] = {}, weight = 0;
    const auto fetch = [&](std::size_t index) {
      const std::size_t begin = section.begin + index * narrow_step;
      if (begin < section.end) {
        fetch_rows<Sixteens>(chunk, d, layout.components, terms, first_component, begin, section.end,
                             stages[index % narrow_stages]);
      }
      __pipeline_commit();
    };
    const std::size_t steps = (section.end - section.begin + narrow_step - 1) / narrow_step;
    for (std::size_t index = 0; index < narrow_stages - 1; ++index) fetch(index);
    for (std::size_t index = 0; index < steps; ++index) {
      __pipeline_wait_prior(narrow_stages - 2);
      __syncthreads();  // all have fetched this step, and read the one before
      fetch(index + narrow_stages - 1);
      const stage_type& stage = stages[index % narrow_stages];
#pragma unroll 2
      for (int half = 0; half < narrow_step; half += 8) {
        const double* const from = stage.rows + (half + place) * stage_type::stride + group;
        const double near = stage.responsibilities[own * narrow_step + half + place];
        const double far = stage.responsibilities[own * narrow_step + half + place + 4];
        double z[eights][2];
#pragma unroll
        for (int n = 2 * parts::part(0); n < eights; ++n) {
          z[n][0] = from[8 * n] - centre[n];
          z[n][1] = from[8 * n + 4 * stage_type::stride] - centre[n];
        }
        weight += near + far;
#pragma unroll
        for (int i = 0; i < parts::count; ++i) {
          const int m = parts::part(i);
          const double a[4] = {near * z[2 * m][0], near * z[2 * m + 1][0], far * z[2 * m][1], far * z[2 * m + 1][1]};
          first[i][0] += a[0] + a[2];
          first[i][1] += a[1] + a[3];
#pragma unroll
          for (int n = 2 * m; n < eights; ++n) multiply_add(product[i][n], a, z[n]);
        }
      }
    }
    __pipeline_wait_prior(0);
    __syncthreads();  // the stages have been read
    if (blockIdx.y == 0) add_score(terms, section, lane);
    if (k >= layout.components) continue;

    double* const component = lane + layout.header + k * layout.component_size;
    weight += __shfl_xor_sync(~0U, weight, 1);
    weight += __shfl_xor_sync(~0U, weight, 2);
    if (Warp == 0 && threadIdx.x % 32 == 0) component[layout.weight] += weight;
#pragma unroll
    for (int i = 0; i < parts::count; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = 16 * parts::part(i) + 8 * half + group;
        double sum = first[i][half];
        sum += __shfl_xor_sync(~0U, sum, 1);
        sum += __shfl_xor_sync(~0U, sum, 2);
        if (row >= d) continue;
        // The triangle of (x − c, 1), whose last column holds the first moments.
        double* const triangle = component + statistics_layout::triangle_row(d + 1, row);
        if (place == 0) triangle[d] += sum;
#pragma unroll
        for (int n = 2 * parts::part(i); n < eights; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = 8 * n + 2 * place + e;
            if (column >= row && column < d) triangle[column] += product[i][n][2 * half + e];
          }
        }
      }
    }
  }
}

/// A block for some components and each lane.
template <int Sixteens>
__global__ void __launch_bounds__(threads, Sixteens <= 2 ? 2 : 1)
    narrow_moments(const kernel_layout layout, const __grid_constant__ row_chunk<double> chunk,
                   const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                   const lane_plan plan, const int* stopped) {
  if (*stopped != 0) return;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const stages = reinterpret_cast<row_stage<Sixteens>*>(memory);
  // Both ways pass the same barriers.
  if (warps_of_component(Sixteens) == 1 || threadIdx.x / 32 % 2 == 0) {
    sum_component<Sixteens, 0>(layout, chunk, parameters, terms, plan, stages);
  } else {
    sum_component<Sixteens, 1>(layout, chunk, parameters, terms, plan, stages);
  }
}

template <int Sixteens>
void launch_narrow_moments(const kernel_layout& layout, const row_chunk<double>& chunk,
                           const prepared_parameters<double>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  constexpr int bytes = narrow_stages * sizeof(row_stage<Sixteens>);
  cuda::check(cudaFuncSetAttribute(narrow_moments<Sixteens>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  const dim3 blocks(1, (layout.components + block_components(Sixteens) - 1) / block_components(Sixteens), plan.lanes);
  narrow_moments<Sixteens>
      <<<blocks, threads, bytes, stream>>>(layout, chunk, parameters.in_double, terms, plan, parameters.stopped);
  cuda::check_launch("narrow_moments");
}

}  // namespace shoal::gmm::tensor_float64
