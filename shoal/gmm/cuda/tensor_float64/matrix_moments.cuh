// Moments of full and tied covariances: Σ w r (x − c)(x − c)ᵀ tile by tile of its upper triangle, Σ w r (x − c) and Σ w
// r.
#pragma once

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tensor_float64/sections.cuh>
#include <shoal/gmm/cuda/tensor_float64/triangle_tiles.cuh>

namespace shoal::gmm::tensor_float64 {

template <int Tile>
struct moment_stage {
  double scaled[step * padded(Tile)];  // w r (x − c) of the tile's rows, [row of the data][column]
  double plain[step * padded(Tile)];   // x − c of the tile's columns
};

/// What a thread has loaded of the next step. Nothing is done with it before there is room for it, since that would
/// wait for memory.
template <class Scalar, int Tile>
struct moment_loads {
  static constexpr int count = Tile * step / threads;
  Scalar down[count];
  Scalar across[count];
  double responsibility[count];
};

/// The sums of single columns that a thread has of its rows.
struct column_sums {
  double weight = 0;
  double first = 0;
};

// Loads a step's rows. Threads have one column of each side each.
template <class Scalar, int Tile>
__device__ void load_rows(const row_chunk<Scalar>& chunk, unsigned columns, std::size_t begin, std::size_t end,
                          const double* responsibilities, unsigned i, unsigned j, moment_loads<Scalar, Tile>& loads) {
#pragma unroll
  for (int e = 0; e < moment_loads<Scalar, Tile>::count; ++e) {
    const std::size_t row = begin + threadIdx.x / Tile + e * (threads / Tile);
    const bool inside = row < end;
    const Scalar* const from = chunk.rows + row * columns;
    loads.responsibility[e] = inside ? responsibilities[row] : 0;
    loads.down[e] = inside && i < columns ? from[i] : Scalar{0};
    loads.across[e] = inside && j < columns ? from[j] : Scalar{0};
  }
}

// Puts them where all threads multiply them; adds up what does not need products.
template <class Scalar, int Tile>
__device__ void keep_rows(const moment_loads<Scalar, Tile>& loads, double centre_i, double centre_j,
                          moment_stage<Tile>& stage, column_sums& sums) {
#pragma unroll
  for (int e = 0; e < moment_loads<Scalar, Tile>::count; ++e) {
    const unsigned at = (threadIdx.x / Tile + e * (threads / Tile)) * padded(Tile) + threadIdx.x % Tile;
    const double scaled = loads.responsibility[e] * (static_cast<double>(loads.down[e]) - centre_i);
    stage.scaled[at] = scaled;
    stage.plain[at] = static_cast<double>(loads.across[e]) - centre_j;
    sums.weight += loads.responsibility[e];
    sums.first += scaled;
  }
}

/// A block for each tile of the triangle, each component (all of them for tied) and each lane.
template <class Scalar, int Tile>
__global__ void __launch_bounds__(threads, resident_blocks(Tile))
    matrix_moments(const kernel_layout layout, const __grid_constant__ row_chunk<Scalar> chunk,
                   const __grid_constant__ prepared_components<double> parameters, const row_terms terms,
                   const lane_plan plan, const int* stopped) {
  using tiles = warp_tiles<Tile, Tile, 2>;
  constexpr int classes = threads / Tile;  // threads that have the same column
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ __align__(128) unsigned char memory[];
  auto* const stages = reinterpret_cast<moment_stage<Tile>*>(memory);
  __shared__ column_sums kept[threads];

  const tiles part;
  const unsigned d = layout.columns;
  const bool tied = layout.type == covariance_type::tied;
  const tile_place place(blockIdx.x, (d + Tile - 1) / Tile);
  const unsigned i = place.down * Tile + threadIdx.x % Tile, j = place.across * Tile + threadIdx.x % Tile;
  const bool diagonal = place.down == place.across;
  double* const lane = plan.sums + std::size_t{blockIdx.z} * plan.size;
  // Full: the triangle of (x − c, 1), whose last column holds the first moments. Tied: that of x − c, which all share.
  const unsigned order = tied ? d : d + 1;

  for (lane_sections section(plan, chunk, blockIdx.z); section.valid(); section.next()) {
    double product[tiles::down][tiles::across][4] = {};
    for (unsigned k = tied ? 0 : blockIdx.y; k < (tied ? layout.components : blockIdx.y + 1); ++k) {
      const double* const centre = parameters.centres + std::size_t{k} * d;
      const double centre_i = i < d ? centre[i] : 0, centre_j = j < d ? centre[j] : 0;
      const double* const responsibilities = terms.values + k * terms.stride;
      column_sums sums;
      moment_loads<Scalar, Tile> loads;
      load_rows<Scalar, Tile>(chunk, d, section.begin, section.end, responsibilities, i, j, loads);
      unsigned turn = 0;
      for (std::size_t begin = section.begin; begin < section.end; begin += step, turn ^= 1) {
        moment_stage<Tile>& stage = stages[turn];
        keep_rows<Scalar, Tile>(loads, centre_i, centre_j, stage, sums);
        __syncthreads();  // one barrier a step: the other stage was read before the last one
        if (begin + step < section.end) {
          load_rows<Scalar, Tile>(chunk, d, begin + step, section.end, responsibilities, i, j, loads);
        }
#pragma unroll
        for (int half = 0; half < step; half += 8) {
          double a[tiles::down][4], b[tiles::across][2];
#pragma unroll
          for (int m = 0; m < tiles::down; ++m) {
            const double* const from = stage.scaled + (half + part.place) * padded(Tile) + part.row(m) + part.group;
            a[m][0] = from[0];
            a[m][1] = from[8];
            a[m][2] = from[4 * padded(Tile)];
            a[m][3] = from[4 * padded(Tile) + 8];
          }
#pragma unroll
          for (int n = 0; n < tiles::across; ++n) {
            const double* const from = stage.plain + (half + part.place) * padded(Tile) + part.column(n) + part.group;
            b[n][0] = from[0];
            b[n][1] = from[4 * padded(Tile)];
          }
#pragma unroll
          for (int m = 0; m < tiles::down; ++m) {
#pragma unroll
            for (int n = 0; n < tiles::across; ++n) {
              if (diagonal && part.column(n) + 7 < part.row(m)) continue;  // below the diagonal
              if (place.across * Tile + part.column(n) >= d) continue;
              multiply_add(product[m][n], a[m], b[n]);
            }
          }
        }
      }
      __syncthreads();  // the stages have been read, and what was kept before
      if (diagonal) {
        kept[threadIdx.x] = sums;
        __syncthreads();
        double* const component = lane + layout.header + k * layout.component_size;
        if (threadIdx.x < Tile && i < d) {
          double first = 0;
          for (int c = 0; c < classes; ++c) first += kept[threadIdx.x + c * Tile].first;
          component[tied ? i : statistics_layout::triangle_row(order, i) + d] += first;
        }
        if (threadIdx.x == 0 && place.down == 0) {
          double weight = 0;
          for (int c = 0; c < classes; ++c) weight += kept[c * Tile].weight;
          component[layout.weight] += weight;
        }
      }
    }
    double* const triangle =
        lane + (tied ? layout.shared : layout.header + std::size_t{blockIdx.y} * layout.component_size);
#pragma unroll
    for (int m = 0; m < tiles::down; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned row = place.down * Tile + part.row(m) + 8 * half + part.group;
        if (row >= d) continue;
#pragma unroll
        for (int n = 0; n < tiles::across; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const unsigned column = place.across * Tile + part.column(n) + 2 * part.place + e;
            if (column < row || column >= d) continue;
            triangle[statistics_layout::triangle_row(order, row) + column] += product[m][n][2 * half + e];
          }
        }
      }
    }
    if (blockIdx.x == 0 && blockIdx.y == 0) add_score(terms, section, lane);
  }
}

template <class Scalar, int Tile>
void launch_matrix_moments(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                           const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                           cudaStream_t stream) {
  constexpr int bytes = 2 * sizeof(moment_stage<Tile>);
  const dim3 blocks(static_cast<unsigned>(triangle_tiles(layout.columns, Tile)),
                    layout.type == covariance_type::tied ? 1 : layout.components, plan.lanes);
  cuda::launch_in_turn(matrix_moments<Scalar, Tile>, blocks, threads, bytes, stream, layout, chunk,
                       parameters.in_double, terms, plan, parameters.stopped);
}

}  // namespace shoal::gmm::tensor_float64
