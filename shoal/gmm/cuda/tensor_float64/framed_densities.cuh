// Log-densities in the frame, a product of rows (z, z²) with components. Of few components a block has all, and goes on
// to the rows' responsibilities.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/copies.cuh>
#include <shoal/gmm/cuda/tensor_float64/finish_rows.cuh>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>

namespace shoal::gmm::tensor_float64 {

template <class Scalar, int Features, class Tile>
struct density_stage {
  static constexpr int stride = padded(frame_step);
  double operands[Tile::components * frame_step * Features];
  double origin[frame_step];
  Scalar rows[Tile::rows * stride];

  static constexpr unsigned operand_bytes = sizeof(operands);
  static constexpr unsigned origin_bytes = sizeof(origin);
};

template <class Scalar, int Features, class Tile>
constexpr int density_stages() {
  constexpr int room =
      (227 * 1024 / Tile::resident - 2048) / static_cast<int>(sizeof(density_stage<Scalar, Features, Tile>));
  return room > 4 ? 4 : room;
}

// Copies a step of the columns of a tile's rows; beyond the last column and row are zeros.
template <class Scalar, int Rows, int Width, class Stage>
__device__ void fetch_columns(const row_chunk<Scalar>& chunk, unsigned columns, std::size_t first_row,
                              unsigned first_column, Stage& stage) {
  constexpr unsigned per_row = frame_step / Width;
  const unsigned r = threadIdx.x / per_row, j = threadIdx.x % per_row * Width;
  const bool inside = first_column + j < columns;
  const Scalar* const from = chunk.rows + (first_row + r) * columns + first_column + j;
#pragma unroll
  for (unsigned e = 0; e < Rows; e += threads / per_row) {
    if (Rows % (threads / per_row) != 0 && r + e >= Rows) break;
    const bool there = inside && first_row + r + e < chunk.count;
    copy_async<Width * sizeof(Scalar)>(&stage.rows[(r + e) * Stage::stride + j],
                                       there ? from + std::size_t{e} * columns : chunk.rows,
                                       there ? Width * sizeof(Scalar) : 0);
  }
}

/// A block's tile of rows and tile of components, through stages whose barriers have passed `passed` steps. `Finish`:
/// the block has all components, and leaves responsibilities times weights and the rows' part of the score.
template <class Scalar, bool Spherical, class Tile, bool Finish>
__device__ __forceinline__ void take_framed_tile(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                                                 const component_frame& frame, const row_terms& terms,
                                                 const double* log_shift, std::size_t first_row, unsigned passed,
                                                 unsigned char* memory, unsigned long long* full) {
  constexpr int features = Spherical ? 1 : 2;
  using stage_type = density_stage<Scalar, features, Tile>;
  constexpr int stages = density_stages<Scalar, features, Tile>();
  static_assert(stages >= 2);
  auto* const stage_of = reinterpret_cast<stage_type*>(memory);
  const unsigned d = layout.columns;
  const unsigned place = threadIdx.x % 4;
  const unsigned first = blockIdx.y * Tile::components;
  const bool aligned = d % (16 / sizeof(Scalar)) == 0;

  const auto fetch = [&](unsigned index) {
    if (index < frame.steps) {
      stage_type& stage = stage_of[(passed + index) % stages];
      if (threadIdx.x == 0) {
        unsigned long long* const barrier = full + (passed + index) % stages;
        expect_operands(barrier, stage_type::operand_bytes + stage_type::origin_bytes);
        fetch_operands(stage.operands,
                       frame.operands + (std::size_t{index} * frame.eights + first / 8) * (features * 128),
                       stage_type::operand_bytes, barrier);
        fetch_operands(stage.origin, frame.origin + index * frame_step, stage_type::origin_bytes, barrier);
      }
      if (aligned) {
        fetch_columns<Scalar, Tile::rows, 16 / sizeof(Scalar)>(chunk, d, first_row, index * frame_step, stage);
      } else {
        fetch_columns<Scalar, Tile::rows, 1>(chunk, d, first_row, index * frame_step, stage);
      }
    }
    end_copies();
  };
  for (unsigned index = 0; index < stages - 1; ++index) fetch(index);

  tile_densities<Tile> densities;
  double norm[Tile::sixteens][2] = {};
  for (unsigned index = 0; index < frame.steps; ++index) {
    wait_for_copies<stages - 2>();
    wait_for_operands(full + (passed + index) % stages, (passed + index) / stages & 1);
    __syncthreads();  // all have fetched this step, and read the one before
    fetch(index + stages - 1);
    const stage_type& stage = stage_of[(passed + index) % stages];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      if (sizeof(Scalar) == 8 && half == 1 && index * frame_step + 8 >= d) break;  // no column is there
      const double near = stage.origin[8 * half + place], far = stage.origin[8 * half + place + 4];
      [[maybe_unused]] double ratio[2] = {1, 1};
      if constexpr (Spherical && sizeof(Scalar) == 4) {
        if (frame.units != nullptr) {
          const float2* const units = frame.units + index * frame_step + 8 * half + place;
          ratio[0] = static_cast<double>(units[0].x) / static_cast<double>(frame.units[0].x);
          ratio[1] = static_cast<double>(units[4].x) / static_cast<double>(frame.units[0].x);
        }
      }
      double z[Tile::sixteens][4];
#pragma unroll
      for (int m = 0; m < Tile::sixteens; ++m) {
        const Scalar* const from = stage.rows + densities.row(m, 0) * stage_type::stride + 8 * half + place;
        z[m][0] = static_cast<double>(from[0]) - near;
        z[m][1] = static_cast<double>(from[8 * stage_type::stride]) - near;
        z[m][2] = static_cast<double>(from[4]) - far;
        z[m][3] = static_cast<double>(from[8 * stage_type::stride + 4]) - far;
      }
#pragma unroll
      for (int feature = 0; feature < features; ++feature) {
        const double* const from = stage.operands + (densities.across * Tile::eights * features + feature) * 128 +
                                   half * 64 + threadIdx.x % 32 * 2;
#pragma unroll
        for (int n = 0; n < Tile::eights; ++n) {
          const double2 two = *reinterpret_cast<const double2*>(from + n * (features * 128));
          const double b[2] = {two.x, two.y};
#pragma unroll
          for (int m = 0; m < Tile::sixteens; ++m) multiply_add(densities.values[m][n], z[m], b);
        }
#pragma unroll
        for (int m = 0; m < Tile::sixteens; ++m) {
          if constexpr (Spherical) {
            // In the unit of the first column, where columns have units of their own.
            if constexpr (sizeof(Scalar) == 4) {
              z[m][0] *= ratio[0];
              z[m][1] *= ratio[0];
              z[m][2] *= ratio[1];
              z[m][3] *= ratio[1];
            }
            norm[m][0] = fma(z[m][0], z[m][0], fma(z[m][2], z[m][2], norm[m][0]));
            norm[m][1] = fma(z[m][1], z[m][1], fma(z[m][3], z[m][3], norm[m][1]));
          } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) z[m][e] *= z[m][e];
          }
        }
      }
    }
  }
  wait_for_copies<0>();

  if constexpr (Spherical) {
#pragma unroll
    for (int m = 0; m < Tile::sixteens; ++m) {
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        norm[m][part] += __shfl_xor_sync(~0U, norm[m][part], 1);
        norm[m][part] += __shfl_xor_sync(~0U, norm[m][part], 2);
        const std::size_t row = first_row + densities.row(m, part);
        if (densities.across == 0 && blockIdx.y == 0 && place == 0 && row < chunk.count)
          frame.norms[row] = norm[m][part];
      }
    }
  }
  densities.template add_constants<Spherical>(frame, first, norm);
  if constexpr (Finish) {
    static_assert(finish_numbers<Tile>() * sizeof(double) <= stages * sizeof(stage_type));
    __syncthreads();  // the stages have been read
    finish_rows<Scalar>(densities, chunk, first_row, terms, *log_shift, reinterpret_cast<double*>(memory));
    densities.store(reinterpret_cast<Scalar*>(terms.values), terms.stride, first_row, chunk.count, first,
                    layout.components);
  } else {
    densities.store(terms.values, terms.stride, first_row, chunk.count, first, layout.components);
  }
}

/// A block for each tile of rows and tile of components; of float32 rows that are far, of which there are mostly none,
/// as many blocks as a GPU holds.
template <class Scalar, bool Spherical, class Tile, bool Finish>
__global__ void __launch_bounds__(threads, Tile::resident)
    framed_densities(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                     const component_frame frame, const row_terms terms, const double* log_shift, const int* stopped) {
  constexpr int stages = density_stages < Scalar, Spherical ? 1 : 2, Tile > ();
  cuda::wait_for_predecessor();
  if (*stopped != 0 || *frame.together == 0) return;
  if constexpr (sizeof(Scalar) == 4) {
    const std::size_t first = std::size_t{blockIdx.x} * Tile::rows, stride = std::size_t{gridDim.x} * Tile::rows;
    if (!any_far(frame, first, Tile::rows, stride, chunk.count)) return;
  }
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ unsigned long long full[stages];
  if (threadIdx.x == 0) {
    make_barriers(full, stages);
  }
  __syncthreads();
  const auto take = [&](std::size_t first_row, unsigned passed) {
    take_framed_tile<Scalar, Spherical, Tile, Finish>(layout, chunk, frame, terms, log_shift, first_row, passed, memory,
                                                      full);
  };
  if constexpr (sizeof(Scalar) == 4) {
    unsigned passed = 0;
    for (std::size_t first_row = std::size_t{blockIdx.x} * Tile::rows; first_row < chunk.count;
         first_row += std::size_t{gridDim.x} * Tile::rows) {
      if (!any_far(frame, first_row, min(first_row + Tile::rows, chunk.count))) continue;
      take(first_row, passed);
      publish_to_copies();  // the next tile's operands come where its responsibilities were
      passed += frame.steps;
    }
  } else {
    take(std::size_t{blockIdx.x} * Tile::rows, 0);
  }
}

template <class Scalar, bool Spherical, class Tile, bool Finish>
void launch_framed_densities(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                             const prepared_parameters<Scalar>& parameters, const row_terms& terms,
                             cudaStream_t stream) {
  constexpr int features = Spherical ? 1 : 2;
  using stage_type = density_stage<Scalar, features, Tile>;
  constexpr int bytes = density_stages<Scalar, features, Tile>() * static_cast<int>(sizeof(stage_type));
  const auto kernel = framed_densities<Scalar, Spherical, Tile, Finish>;
  dim3 blocks(static_cast<unsigned>((chunk.count + Tile::rows - 1) / Tile::rows),
              (layout.components + Tile::components - 1) / Tile::components);
  if (frame.near != nullptr) {
    const unsigned most = frame.multiprocessors * Tile::resident;
    blocks.x = std::min(blocks.x, std::max(1U, most / blocks.y));
  }
  cuda::launch_in_turn(kernel, blocks, threads, bytes, stream, layout, chunk, frame, terms,
                       parameters.in_double.log_shift, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
