// Log-densities under full and tied covariances: y = Uᵀ(x − c) + b tile by tile of columns, ‖y‖² from the registers.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>

namespace shoal::gmm::tensor_float64 {

template <int Tile>
struct density_stage {
  double rows[density_rows * padded(step)];  // x − c, [row][column]
  double factors[step * padded(Tile)];       // U, [row][column]
};

/// What a thread has loaded of the next step, before there is room for it.
/// Nothing is done with it before then, since that would wait for memory.
template <class Scalar, int Tile>
struct density_loads {
  static constexpr int rows = density_rows * step / threads;
  static constexpr int factors = Tile * step / threads;
  Scalar row[rows];
  double centre;
  double factor[factors];
};

/// Steps of the rows of U that reach a tile of columns: what is below the diagonal is zero.
__device__ inline unsigned steps_above(unsigned columns, unsigned tile_end) {
  return (min(columns, tile_end) + step - 1) / step;
}

template <class Scalar, int Tile>
__device__ void load_step(const row_chunk<Scalar>& chunk, unsigned columns, std::size_t first_row, unsigned begin,
                          unsigned tile, const double* centre, const double* factor,
                          density_loads<Scalar, Tile>& loads) {
  const unsigned i = begin + threadIdx.x % step;
  const bool inside = i < columns;
  loads.centre = inside ? centre[i] : 0;
#pragma unroll
  for (int e = 0; e < density_loads<Scalar, Tile>::rows; ++e) {
    const std::size_t row = first_row + threadIdx.x / step + e * (threads / step);
    loads.row[e] = inside && row < chunk.count ? chunk.rows[row * columns + i] : Scalar{0};
  }
  const unsigned j = tile + threadIdx.x % Tile;
#pragma unroll
  for (int e = 0; e < density_loads<Scalar, Tile>::factors; ++e) {
    const unsigned row = begin + threadIdx.x / Tile + e * (threads / Tile);
    loads.factor[e] = j < columns && row < columns ? factor[std::size_t{row} * columns + j] : 0;
  }
}

template <class Scalar, int Tile>
__device__ void keep_step(const density_loads<Scalar, Tile>& loads, density_stage<Tile>& stage) {
#pragma unroll
  for (int e = 0; e < density_loads<Scalar, Tile>::rows; ++e) {
    stage.rows[(threadIdx.x / step + e * (threads / step)) * padded(step) + threadIdx.x % step] =
        static_cast<double>(loads.row[e]) - loads.centre;
  }
#pragma unroll
  for (int e = 0; e < density_loads<Scalar, Tile>::factors; ++e) {
    stage.factors[(threadIdx.x / Tile + e * (threads / Tile)) * padded(Tile) + threadIdx.x % Tile] = loads.factor[e];
  }
}

/// A tile of rows, by a block.
template <class Scalar, int Tile>
__device__ __forceinline__ void tile_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                                               const prepared_components<double>& parameters, const row_terms& terms,
                                               std::size_t first_row) {
  using tiles = warp_tiles<density_rows, Tile, Tile == 128 ? 2 : (Tile == 64 ? 4 : 8)>;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stages = reinterpret_cast<density_stage<Tile>*>(memory);
  __shared__ double norms[tiles::warps_across][density_rows];

  const tiles part;
  const unsigned d = layout.columns, k = blockIdx.y;
  const double* const centre = parameters.centres + std::size_t{k} * d;
  const double* const offset = parameters.offsets + std::size_t{k} * d;
  const double* const factor = parameters.factors + (layout.type == covariance_type::full ? std::size_t{k} * d * d : 0);

  double norm[tiles::down][2] = {};
  density_loads<Scalar, Tile> loads;
  for (unsigned tile = 0; tile < d; tile += Tile) {
    double product[tiles::down][tiles::across][4] = {};
    const unsigned steps = steps_above(d, tile + Tile);
    load_step<Scalar, Tile>(chunk, d, first_row, 0, tile, centre, factor, loads);
    for (unsigned s = 0; s < steps; ++s) {
      density_stage<Tile>& stage = stages[s % 2];
      keep_step<Scalar, Tile>(loads, stage);
      __syncthreads();  // one barrier a step: the other stage was read before the last one
      if (s + 1 < steps) {
        load_step<Scalar, Tile>(chunk, d, first_row, (s + 1) * step, tile, centre, factor, loads);
      }
#pragma unroll
      for (int half = 0; half < step; half += 8) {
        double a[tiles::down][4], b[tiles::across][2];
#pragma unroll
        for (int i = 0; i < tiles::down; ++i) {
          const double* const from = stage.rows + (part.row(i) + part.group) * padded(step) + half + part.place;
          a[i][0] = from[0];
          a[i][1] = from[8 * padded(step)];
          a[i][2] = from[4];
          a[i][3] = from[8 * padded(step) + 4];
        }
#pragma unroll
        for (int j = 0; j < tiles::across; ++j) {
          const double* const from = stage.factors + (half + part.place) * padded(Tile) + part.column(j) + part.group;
          b[j][0] = from[0];
          b[j][1] = from[4 * padded(Tile)];
        }
#pragma unroll
        for (int j = 0; j < tiles::across; ++j) {
          const unsigned column = tile + part.column(j);
          if (column >= d || s * step + half > column + 7) continue;  // zeros of the triangle
#pragma unroll
          for (int i = 0; i < tiles::down; ++i) multiply_add(product[i][j], a[i], b[j]);
        }
      }
    }
    __syncthreads();  // the stages have been read
#pragma unroll
    for (int j = 0; j < tiles::across; ++j) {
      const unsigned column = tile + part.column(j) + 2 * part.place;
      const double b0 = column < d ? offset[column] : 0, b1 = column + 1 < d ? offset[column + 1] : 0;
#pragma unroll
      for (int i = 0; i < tiles::down; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const double y0 = product[i][j][2 * half] + b0, y1 = product[i][j][2 * half + 1] + b1;
          norm[i][half] += y0 * y0 + y1 * y1;
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < tiles::down; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double sum = norm[i][half];
      sum += __shfl_xor_sync(~0U, sum, 1);
      sum += __shfl_xor_sync(~0U, sum, 2);
      if (part.place == 0) norms[part.warp_across][part.row(i) + 8 * half + part.group] = sum;
    }
  }
  __syncthreads();
  const std::size_t row = first_row + threadIdx.x;
  if (threadIdx.x < density_rows && row < chunk.count) {
    double sum = 0;
    for (int warp = 0; warp < tiles::warps_across; ++warp) sum += norms[warp][threadIdx.x];
    terms.values[k * terms.stride + row] = parameters.log_constants[k] - sum / 2;
  }
}

/// A block for each tile of rows and each component.
template <class Scalar, int Tile>
__global__ void __launch_bounds__(threads, Tile == 32 ? 2 : 1)
    matrix_densities(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  tile_densities<Scalar, Tile>(layout, chunk, parameters, terms, std::size_t{blockIdx.x} * density_rows);
}

/// Blocks take the wanted tiles in turn.
template <class Scalar, int Tile>
__global__ void __launch_bounds__(threads, Tile == 32 ? 2 : 1)
    wanted_densities(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                     const int* wanted, const int* any, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *any == 0) return;
  for (std::size_t tile = blockIdx.x; tile * density_rows < chunk.count; tile += gridDim.x) {
    if (wanted[tile] == 0) continue;
    tile_densities<Scalar, Tile>(layout, chunk, parameters, terms, tile * density_rows);
    __syncthreads();  // shared memory has been read
  }
}

template <class Scalar, int Tile>
void launch_matrix_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                             cudaStream_t stream) {
  constexpr int bytes = 2 * sizeof(density_stage<Tile>);
  const dim3 blocks(static_cast<unsigned>((chunk.count + density_rows - 1) / density_rows), layout.components);
  cuda::launch_in_turn(matrix_densities<Scalar, Tile>, blocks, threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
