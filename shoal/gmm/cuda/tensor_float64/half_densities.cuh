// Log-densities of float32 rows in the frame by products of float16 terms, three for one of float32's grade, and the
// rows' responsibilities. Sums of a few columns are taken on tensor cores, and go on in float64.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/finish_rows.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/tuning.hpp>

namespace shoal::gmm::tensor_float64 {

/// So many stages are summed on tensor cores.
inline constexpr unsigned half_sums = 2;

template <int Features, class Tile>
struct half_stage {
  uint4 operands[half_steps][Tile::components / 8][Features][32];
  float2 units[half_steps * frame_step];
  float rows[half_steps][Tile::rows * frame_step];  // unpadded: two rows' four columns each hit all banks
};

template <int Features, class Tile>
constexpr int half_stages() {
  constexpr int room = (227 * 1024 / Tile::resident - 2048) / static_cast<int>(sizeof(half_stage<Features, Tile>));
  return room > 5 ? 5 : room;
}

// Copies a step of the columns of a tile's rows; beyond the last column and row are zeros.
template <int Width, class Tile, class Stage>
__device__ void fetch_half_columns(const row_chunk<float>& chunk, unsigned columns, std::size_t first_row,
                                   unsigned first_column, Stage& stage) {
  constexpr unsigned per_row = half_steps * frame_step / Width;
  const unsigned r = threadIdx.x / per_row, j = threadIdx.x % per_row * Width;
  const bool inside = first_column + j < columns;
  const float* const from = chunk.rows + (first_row + r) * columns + first_column + j;
#pragma unroll
  for (unsigned e = 0; e < Tile::rows; e += threads / per_row) {
    const bool there = inside && first_row + r + e < chunk.count;
    copy_async<Width * sizeof(float)>(&stage.rows[j / frame_step][(r + e) * frame_step + j % frame_step],
                                      there ? from + std::size_t{e} * columns : chunk.rows,
                                      there ? Width * sizeof(float) : 0);
  }
}

/// A block for each tile of rows, with all components. Rows that are beyond the grade make their score tile far: it is
/// done again in float64.
template <bool Spherical, class Tile>
__global__ void __launch_bounds__(threads, Tile::resident)
    half_densities(const kernel_layout layout, const __grid_constant__ row_chunk<float> chunk,
                   const component_frame frame, const row_terms terms, const double* log_shift, const int* stopped) {
  constexpr int features = Spherical ? 1 : 2;
  using stage_type = half_stage<features, Tile>;
  constexpr int stages = half_stages<features, Tile>();
  static_assert(stages >= 2);
  if (*stopped != 0 || *frame.near == 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stage_of = reinterpret_cast<stage_type*>(memory);
  __shared__ unsigned long long full[stages];
  __shared__ int far[Tile::rows / score_tile_rows], greatest[Tile::rows / score_tile_rows];
  const unsigned d = layout.columns;
  const unsigned lane = threadIdx.x % 32;
  const std::size_t first_row = std::size_t{blockIdx.x} * Tile::rows;
  const unsigned steps = half_columns(d) / (half_steps * frame_step);
  if (threadIdx.x < Tile::rows / score_tile_rows) far[threadIdx.x] = greatest[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    make_barriers(full, stages);
  }
  __syncthreads();
  const auto fetch = [&](unsigned index) {
    if (index < steps) {
      stage_type& stage = stage_of[index % stages];
      if (threadIdx.x == 0) {
        unsigned long long* const barrier = full + index % stages;
        expect_operands(barrier, sizeof(stage.operands) + sizeof(stage.units));
        fetch_operands(stage.operands,
                       reinterpret_cast<const unsigned char*>(frame.half_operands) + index * sizeof(stage.operands),
                       sizeof(stage.operands), barrier);
        fetch_operands(stage.units, frame.units + index * (half_steps * frame_step), sizeof(stage.units), barrier);
      }
      if (d % 4 == 0) {
        fetch_half_columns<4, Tile>(chunk, d, first_row, index * (half_steps * frame_step), stage);
      } else {
        fetch_half_columns<1, Tile>(chunk, d, first_row, index * (half_steps * frame_step), stage);
      }
    }
    end_copies();
  };
  for (unsigned index = 0; index < stages - 1; ++index) fetch(index);

  tile_densities<Tile> densities;
  double norm[Tile::sixteens][2] = {};
  float product[Tile::sixteens][Tile::eights][4] = {};
  float squares[Tile::sixteens][2] = {};
  for (unsigned index = 0; index < steps; ++index) {
    wait_for_copies<stages - 2>();
    wait_for_operands(full + index % stages, index / stages & 1);
    __syncthreads();  // all have fetched this step, and read the one before
    fetch(index + stages - 1);
    const stage_type& stage = stage_of[index % stages];
#pragma unroll
    for (int sub = 0; sub < half_steps; ++sub) {
      std::uint32_t high[features][Tile::sixteens][4], low[features][Tile::sixteens][4];
      const float4 units[2] = {*reinterpret_cast<const float4*>(stage.units + sub * frame_step + lane % 4 * 4),
                               *reinterpret_cast<const float4*>(stage.units + sub * frame_step + lane % 4 * 4 + 2)};
#pragma unroll
      for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
        for (int part = 0; part < 2; ++part) {
          const float4 x =
              *reinterpret_cast<const float4*>(stage.rows[sub] + densities.row(m, part) * frame_step + lane % 4 * 4);
          float z[4] = {fmaf(x.x, units[0].x, units[0].y), fmaf(x.y, units[0].z, units[0].w),
                        fmaf(x.z, units[1].x, units[1].y), fmaf(x.w, units[1].z, units[1].w)};
          tensor::split(z[0], z[1], high[0][m][part], low[0][m][part]);
          tensor::split(z[2], z[3], high[0][m][2 + part], low[0][m][2 + part]);
#pragma unroll
          for (int i = 0; i < 4; ++i) z[i] *= z[i];
          squares[m][part] += (z[0] + z[1]) + (z[2] + z[3]);
          if constexpr (!Spherical) {
            tensor::split(z[0], z[1], high[1][m][part], low[1][m][part]);
            tensor::split(z[2], z[3], high[1][m][2 + part], low[1][m][2 + part]);
          }
        }
      }
#pragma unroll
      for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
        for (int feature = 0; feature < features; ++feature) {
          const uint4 b = stage.operands[sub][densities.across * Tile::eights + n][feature][lane];
#pragma unroll
          for (int m = 0; m < Tile::sixteens; ++m) {
            tensor::multiply_add(product[m][n], high[feature][m], b.z, b.w);
            tensor::multiply_add(product[m][n], low[feature][m], b.x, b.y);
            tensor::multiply_add(product[m][n], high[feature][m], b.x, b.y);
          }
        }
      }
    }
    if (index % half_sums != half_sums - 1 && index + 1 < steps) continue;
#pragma unroll
    for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
      for (int n = 0; n < Tile::eights; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          densities.values[m][n][e] += static_cast<double>(product[m][n][e]);
          product[m][n][e] = 0;
        }
      }
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        norm[m][part] += static_cast<double>(squares[m][part]);
        squares[m][part] = 0;
      }
    }
  }
  wait_for_copies<0>();

  const double unit = static_cast<double>(frame.units[0].x);
#pragma unroll
  for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      double& own = norm[m][part];
      own += __shfl_xor_sync(~0U, own, 1);
      own += __shfl_xor_sync(~0U, own, 2);
      const int row = densities.row(m, part);
      if (densities.across == 0 && densities.place == 0 && first_row + row < chunk.count) {
        // A comparison that a NaN fails. Every |z| is then in float16's range.
        if (!(own <= most_half_norm(d))) far[row / score_tile_rows] = 1;
        if constexpr (Spherical) frame.norms[first_row + row] = own / (unit * unit);
      }
      own /= unit * unit;
    }
  }
  for (unsigned row = threadIdx.x; row < Tile::rows && first_row + row < chunk.count; row += threads) {
    const float weight = chunk.weights == nullptr ? 1.0F : chunk.weights[first_row + row];
    atomicMax(&greatest[row / score_tile_rows], __float_as_int(weight));  // of integers: as of floats above zero
  }
  densities.template add_constants<Spherical>(frame, 0, norm);
  static_assert(finish_numbers<Tile>() * sizeof(double) <= stages * sizeof(stage_type));
  __syncthreads();  // the stages have been read
  finish_rows<float>(densities, chunk, first_row, terms, *log_shift, reinterpret_cast<double*>(memory));
  densities.store(reinterpret_cast<float*>(terms.values), terms.stride, first_row, chunk.count, 0, layout.components);
  if (threadIdx.x < Tile::rows / score_tile_rows) {
    const std::size_t tile = first_row / score_tile_rows + threadIdx.x;
    const float weight = __int_as_float(greatest[threadIdx.x]);
    frame.far[tile] = far[threadIdx.x];
    frame.exponents[tile] = weight > 0 ? ilogbf(weight) : 0;
  }
}

template <bool Spherical, class Tile>
void launch_half_densities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                           const prepared_parameters<float>& parameters, const row_terms& terms, cudaStream_t stream) {
  constexpr int features = Spherical ? 1 : 2;
  constexpr int bytes = half_stages<features, Tile>() * static_cast<int>(sizeof(half_stage<features, Tile>));
  const auto kernel = half_densities<Spherical, Tile>;
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
              "give a kernel shared memory");
  kernel<<<static_cast<unsigned>((chunk.count + Tile::rows - 1) / Tile::rows), threads, bytes, stream>>>(
      layout, chunk, frame, terms, parameters.in_double.log_shift, parameters.stopped);
  cuda::check_launch("half_densities");
}

}  // namespace shoal::gmm::tensor_float64
