// Moments of full covariances of at most 64 columns: Σ w r (x − c)(x − c)ᵀ, Σ w r (x − c) and Σ w r. Components share
// the rows in shared memory, and a component's triangle lies in the registers of one warp, or of two.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Rows between two barriers, and how many times as many are in hand.
inline constexpr int narrow_step = 32;
inline constexpr int narrow_stages = 3;

constexpr int warps_of_component(int eights) { return eights <= 4 ? 1 : 2; }
constexpr int block_components(int eights) { return threads / 32 / warps_of_component(eights); }

template <int Eights>
struct row_stage {
  static constexpr int width = 8 * Eights;
  static constexpr int stride = padded(width);
  double rows[narrow_step * stride];
  double responsibilities[block_components(Eights) * narrow_step];
};

template <int Eights, int Width>
__device__ void fetch_rows(const row_chunk<double>& chunk, unsigned columns, std::size_t begin, std::size_t end,
                           row_stage<Eights>& stage) {
  using stage_type = row_stage<Eights>;
  constexpr unsigned per_row = stage_type::width / Width;
#pragma unroll
  for (unsigned e = 0; e < narrow_step * per_row; e += threads) {
    if (narrow_step * per_row % threads != 0 && e + threadIdx.x >= narrow_step * per_row) break;
    const unsigned r = (e + threadIdx.x) / per_row, j = (e + threadIdx.x) % per_row * Width;
    const bool inside = begin + r < end && j < columns;
    copy_async<Width * sizeof(double)>(&stage.rows[r * stage_type::stride + j],
                                       inside ? chunk.rows + (begin + r) * columns + j : chunk.rows,
                                       inside ? Width * sizeof(double) : 0);
  }
}

template <int Eights>
__device__ void fetch_responsibilities(const row_terms& terms, unsigned components, unsigned first_component,
                                       std::size_t begin, std::size_t end, row_stage<Eights>& stage) {
  for (unsigned e = threadIdx.x; e < block_components(Eights) * narrow_step; e += threads) {
    const unsigned k = first_component + e / narrow_step;
    const std::size_t row = begin + e % narrow_step;
    const bool inside = row < end && k < components;
    copy_async<8>(&stage.responsibilities[e], inside ? terms.values + k * terms.stride + row : terms.values,
                  inside ? 8 : 0);
  }
}

/// The parts of 16 rows of the triangle that a warp of a component has: each goes, the largest first, to the warp that
/// has fewest tiles.
template <int Eights, int Warp>
struct own_parts {
  static constexpr int all = (Eights + 1) / 2;
  static constexpr bool is_own(int part) {
    if (warps_of_component(Eights) == 1) return true;
    int tiles[2] = {};
    for (int m = 0; m < all; ++m) {
      const int to = tiles[0] <= tiles[1] ? 0 : 1;
      if (m == part) return to == Warp;
      tiles[to] += Eights - 2 * m;
    }
    return false;
  }
  static constexpr int count = [] {
    int own = 0;
    for (int m = 0; m < all; ++m) own += is_own(m) ? 1 : 0;
    return own;
  }();
  static constexpr int part(int i) {
    for (int m = 0; m < all; ++m) {
      if (is_own(m) && i-- == 0) return m;
    }
    return all;
  }
};

/// `Ones`: columns leave room for one more, which is one in every row; its products are the first moments and the
/// weight.
template <int Eights, int Warp, bool Ones>
__device__ void sum_component(const kernel_layout& layout, const row_chunk<double>& chunk,
                              const prepared_components<double>& parameters, const row_terms& terms,
                              const lane_plan& plan, row_stage<Eights>* stages) {
  using stage_type = row_stage<Eights>;
  using parts = own_parts<Eights, Warp>;
  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const unsigned first_component = blockIdx.y * block_components(Eights);
  const unsigned own = threadIdx.x / 32 / warps_of_component(Eights), k = first_component + own;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;

  double centre[Eights];
#pragma unroll
  for (int n = 0; n < Eights; ++n) {
    const unsigned column = 8 * n + group;
    centre[n] = k < layout.components && column < d ? parameters.centres[std::size_t{k} * d + column] : 0;
    // What lies beyond the last column is zero in rows.
    if (Ones && column == d) centre[n] = -1;
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[parts::count][Eights][4] = {};
    double first[parts::count][2] = {}, weight = 0;
    const auto fetch = [&](std::size_t index) {
      const std::size_t begin = section.begin + index * narrow_step;
      if (begin < section.end) {
        stage_type& stage = stages[index % narrow_stages];
        if (d % 2 == 0) {
          fetch_rows<Eights, 2>(chunk, d, begin, section.end, stage);
        } else {
          fetch_rows<Eights, 1>(chunk, d, begin, section.end, stage);
        }
        fetch_responsibilities<Eights>(terms, layout.components, first_component, begin, section.end, stage);
      }
      end_copies();
    };
    const std::size_t steps = (section.end - section.begin + narrow_step - 1) / narrow_step;
    for (std::size_t index = 0; index < narrow_stages - 1; ++index) fetch(index);
    for (std::size_t index = 0; index < steps; ++index) {
      wait_for_copies<narrow_stages - 2>();
      __syncthreads();  // all have fetched this step, and read the one before
      fetch(index + narrow_stages - 1);
      if (k >= layout.components) continue;  // it fetches for those that have a component
      const stage_type& stage = stages[index % narrow_stages];
#pragma unroll 2
      for (int half = 0; half < narrow_step; half += 8) {
        const double* const from = stage.rows + (half + place) * stage_type::stride + group;
        const double near = stage.responsibilities[own * narrow_step + half + place];
        const double far = stage.responsibilities[own * narrow_step + half + place + 4];
        double z[Eights + 1][2] = {};  // the last is zero: of the part that 8 rows are left for
#pragma unroll
        for (int n = 2 * parts::part(0); n < Eights; ++n) {
          z[n][0] = from[8 * n] - centre[n];
          z[n][1] = from[8 * n + 4 * stage_type::stride] - centre[n];
        }
        if constexpr (!Ones) weight += near + far;
#pragma unroll
        for (int i = 0; i < parts::count; ++i) {
          const int m = parts::part(i);
          const double a[4] = {near * z[2 * m][0], near * z[2 * m + 1][0], far * z[2 * m][1], far * z[2 * m + 1][1]};
          if constexpr (!Ones) {
            first[i][0] += a[0] + a[2];
            first[i][1] += a[1] + a[3];
          }
#pragma unroll
          for (int n = 2 * m; n < Eights; ++n) {
            const double b[2] = {z[n][0], z[n][1]};
            multiply_add(product[i][n], a, b);
          }
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the stages have been read
    if (blockIdx.y == 0) add_score(terms, section, lane);
    if (k >= layout.components) continue;

    double* const component = lane + layout.header + k * layout.component_size;
    if constexpr (!Ones) {
      weight += __shfl_xor_sync(~0U, weight, 1);
      weight += __shfl_xor_sync(~0U, weight, 2);
      if (Warp == 0 && threadIdx.x % 32 == 0) component[layout.weight] += weight;
    }
    // The triangle of (x − c, 1), whose last column holds the first moments, and whose last element the weight.
    const unsigned past = Ones ? d + 1 : d;
#pragma unroll
    for (int i = 0; i < parts::count; ++i) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = 16 * parts::part(i) + 8 * half + group;
        double sum = first[i][half];
        if constexpr (!Ones) {
          sum += __shfl_xor_sync(~0U, sum, 1);
          sum += __shfl_xor_sync(~0U, sum, 2);
        }
        if (row >= past) continue;
        double* const triangle = component + statistics_layout::triangle_row(d + 1, row);
        if (!Ones && place == 0) triangle[d] += sum;
#pragma unroll
        for (int n = 2 * parts::part(i); n < Eights; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = 8 * n + 2 * place + e;
            if (column >= row && column < past) triangle[column] += product[i][n][2 * half + e];
          }
        }
      }
    }
  }
}

/// A block for some components and each lane. Two blocks of a multiprocessor are worth the few registers that are then
/// kept in memory: one multiplies while the other waits.
template <int Eights, bool Ones>
__global__ void __launch_bounds__(threads, 2)
    narrow_moments(const kernel_layout layout, const __grid_constant__ row_chunk<double> chunk,
                   const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                   const lane_plan plan, const int* stopped) {
  if (*stopped != 0) return;
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const stages = reinterpret_cast<row_stage<Eights>*>(memory);
  if constexpr (warps_of_component(Eights) == 1) {
    sum_component<Eights, 0, Ones>(layout, chunk, parameters, terms, plan, stages);
  } else if (threadIdx.x / 32 % 2 == 0) {  // both ways pass the same barriers
    sum_component<Eights, 0, Ones>(layout, chunk, parameters, terms, plan, stages);
  } else {
    sum_component<Eights, 1, Ones>(layout, chunk, parameters, terms, plan, stages);
  }
}

template <int Eights>
void launch_narrow_moments(const kernel_layout& layout, const row_chunk<double>& chunk,
                           const prepared_parameters<double>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  constexpr int bytes = narrow_stages * sizeof(row_stage<Eights>);
  const auto kernel = layout.columns % 8 == 0 ? narrow_moments<Eights, false> : narrow_moments<Eights, true>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  const dim3 blocks(1, (layout.components + block_components(Eights) - 1) / block_components(Eights), plan.lanes);
  kernel<<<blocks, threads, bytes, stream>>>(layout, chunk, parameters.in_double, terms, plan, parameters.stopped);
  cuda::check_launch("narrow_moments");
}

}  // namespace shoal::gmm::tensor_float64
