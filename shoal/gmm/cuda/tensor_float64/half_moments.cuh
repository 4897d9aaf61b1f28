// Moments of float32 rows in the frame by products of float16 terms, three for one of float32's grade. 64 rows are
// summed on tensor cores, sections in float32, and their sums in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/framed_moments.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

/// Responsibilities of a tile are multiplied by this power of two beside that of its greatest weight, so that float16
/// holds those of 2⁻³⁸ and more of it. Weights below 2⁻¹¹³ count as if the greatest were that: float32 has no greater
/// power of two, and beside the others, of which the greatest is near one, they are nothing.
inline constexpr int most_half_exponent = 14;
inline constexpr int most_float_exponent = 127;

/// A block for each tile of columns, tile of components and lane; rows of far tiles are left out.
template <bool Spherical, class Tile>
__global__ void __launch_bounds__(threads, Tile::resident)
    half_moments(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                 const component_frame frame, const row_terms terms, const lane_plan plan, const int* stopped) {
  constexpr int features = Spherical ? 1 : 2;
  using stage_type = framed_stage<float, float, Tile>;
  constexpr int stages = framed_stages<float, float, Tile>();
  static_assert(stages >= 2 && score_tile_rows % Tile::step == 0 && Tile::step % 16 == 0);
  if (*stopped != 0 || *frame.near == 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stage_of = reinterpret_cast<stage_type*>(memory);
  const unsigned d = layout.columns;
  const unsigned group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
  const int down = static_cast<int>(threadIdx.x) / 32 / Tile::warps_across;
  const int across = static_cast<int>(threadIdx.x) / 32 % Tile::warps_across;
  const unsigned first_column = blockIdx.x * Tile::columns, first = blockIdx.y * Tile::components;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
  const bool sums_weights = blockIdx.x == 0 && across == 0;

  float2 units[Tile::eights];
#pragma unroll
  for (int n = 0; n < Tile::eights; ++n) {
    const unsigned column = first_column + (across * Tile::eights + n) * 8 + group;
    units[n] = column < d ? frame.units[column] : make_float2(0, 0);
  }
  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    const auto fetch = [&](std::size_t index) {
      const std::size_t begin = section.begin + index * Tile::step;
      if (begin < section.end) {
        stage_type& stage = stage_of[index % stages];
        // No rows of a far tile.
        const std::size_t end = frame.far[begin / score_tile_rows] != 0 ? begin : section.end;
        fetch_responsibilities<float, Tile>(terms, layout.components, first, begin, end, stage);
        if (Spherical && threadIdx.x < Tile::step) {
          const bool inside = begin + threadIdx.x < end;
          copy_async<8>(&stage.norms[threadIdx.x], inside ? frame.norms + begin + threadIdx.x : frame.norms,
                        inside ? 8 : 0);
        }
        if (d % 4 == 0) {
          fetch_tile<float, Tile, 4>(chunk, d, first_column, begin, end, stage);
        } else {
          fetch_tile<float, Tile, 1>(chunk, d, first_column, begin, end, stage);
        }
      }
      end_copies();
    };
    float total[features][Tile::sixteens][Tile::eights][4] = {};
    float product[features][Tile::sixteens][Tile::eights][4] = {};
    double weight[Tile::sixteens][2] = {}, norm[Tile::sixteens][2] = {};
    const std::size_t steps = (section.end - section.begin + Tile::step - 1) / Tile::step;
    for (std::size_t index = 0; index < stages - 1; ++index) fetch(index);
    for (std::size_t index = 0; index < steps; ++index) {
      const std::size_t begin = section.begin + index * Tile::step;
      const int exponent = min(most_half_exponent - frame.exponents[begin / score_tile_rows], most_float_exponent);
      const float scale = scalbnf(1.0F, exponent), back = scalbnf(1.0F, -exponent);
      wait_for_copies<stages - 2>();
      __syncthreads();  // all have fetched this step, and read the one before
      fetch(index + stages - 1);
      const stage_type& stage = stage_of[index % stages];
#pragma unroll
      for (int sixteen = 0; sixteen < Tile::step; sixteen += 16) {
        // Rows place, place + 4, + 8 and + 12 of the sixteen.
        std::uint32_t high[Tile::sixteens][4], low[Tile::sixteens][4];
#pragma unroll
        for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
          for (int part = 0; part < 2; ++part) {
            const float* const from =
                stage.responsibilities +
                ((down * Tile::sixteens + m) * 16 + 8 * part + group) * stage_type::responsibility_stride + sixteen +
                place;
            const float r[4] = {from[0], from[4], from[8], from[12]};
            tensor::split(r[0] * scale, r[1] * scale, high[m][part], low[m][part]);
            tensor::split(r[2] * scale, r[3] * scale, high[m][2 + part], low[m][2 + part]);
            if (sums_weights) {
              weight[m][part] += static_cast<double>((r[0] + r[1]) + (r[2] + r[3]));
              if constexpr (Spherical) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                  norm[m][part] = fma(static_cast<double>(r[i]), stage.norms[sixteen + place + 4 * i], norm[m][part]);
                }
              }
            }
          }
        }
#pragma unroll
        for (int n = 0; n < Tile::eights; ++n) {
          const float* const from =
              stage.rows + (sixteen + place) * stage_type::row_stride + (across * Tile::eights + n) * 8 + group;
          float z[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            // A row that is left out is zero, which may be out of range.
            z[i] = tensor::within_range(fmaf(from[4 * i * stage_type::row_stride], units[n].x, units[n].y));
          }
#pragma unroll
          for (int feature = 0; feature < features; ++feature) {
            std::uint32_t b_high[2], b_low[2];
            tensor::split(z[0], z[1], b_high[0], b_low[0]);
            tensor::split(z[2], z[3], b_high[1], b_low[1]);
#pragma unroll
            for (int m = 0; m < Tile::sixteens; ++m) {
              tensor::multiply_add(product[feature][m][n], low[m], b_high[0], b_high[1]);
              tensor::multiply_add(product[feature][m][n], high[m], b_low[0], b_low[1]);
              tensor::multiply_add(product[feature][m][n], high[m], b_high[0], b_high[1]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) z[i] *= z[i];
          }
        }
      }
      if ((begin + Tile::step) % score_tile_rows != 0 && index + 1 < steps) continue;
#pragma unroll
      for (int feature = 0; feature < features; ++feature) {
#pragma unroll
        for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
          for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              total[feature][m][n][e] = fmaf(product[feature][m][n][e], back, total[feature][m][n][e]);
              product[feature][m][n][e] = 0;
            }
          }
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the stages have been read
#pragma unroll
    for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        const unsigned k = first + (down * Tile::sixteens + m) * 16 + 8 * part + group;
        double weights = weight[m][part], norms = norm[m][part];
        weights += __shfl_xor_sync(~0U, weights, 1);
        weights += __shfl_xor_sync(~0U, weights, 2);
        norms += __shfl_xor_sync(~0U, norms, 1);
        norms += __shfl_xor_sync(~0U, norms, 2);
        if (k >= layout.components) continue;
        // W, S and Q of a component; Q of a spherical one has its sum in its first place.
        double* const component = found_anew(lane) + layout.header + k * layout.component_size;
        if (sums_weights && place == 0) {
          component[layout.weight] += weights;
          if constexpr (Spherical) component[1 + d] += norms;
        }
#pragma unroll
        for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = first_column + (across * Tile::eights + n) * 8 + 2 * place + e;
            if (column >= d) continue;
            const double unit = 1 / static_cast<double>(frame.units[column].x);
            component[1 + column] += unit * static_cast<double>(total[0][m][n][2 * part + e]);
            if constexpr (!Spherical) {
              component[1 + d + column] += unit * unit * static_cast<double>(total[features - 1][m][n][2 * part + e]);
            }
          }
        }
      }
    }
  }
}

template <bool Spherical, class Tile>
void launch_half_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                         const prepared_parameters<float>& parameters, const row_terms& terms, const lane_plan& plan,
                         cudaStream_t stream) {
  constexpr int bytes =
      framed_stages<float, float, Tile>() * static_cast<int>(sizeof(framed_stage<float, float, Tile>));
  const auto kernel = half_moments<Spherical, Tile>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  const dim3 blocks((layout.columns + Tile::columns - 1) / Tile::columns,
                    (layout.components + Tile::components - 1) / Tile::components, plan.lanes);
  kernel<<<blocks, threads, bytes, stream>>>(layout, chunk, frame, terms, plan, parameters.stopped);
  cuda::check_launch("half_moments");
}

}  // namespace shoal::gmm::tensor_float64
