#include <shoal/gmm/cuda/tied/kernels.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tied/tuning.hpp>

namespace shoal::gmm::tied {
namespace {

constexpr unsigned threads = 128;

// Of blocks that go through the common factor.
constexpr unsigned factor_threads = 512, factor_warps = factor_threads / cuda::warp_size;

// The triangle that components share is made in tiles of so many rows and columns; a thread has tile_sums of a column.
constexpr unsigned tile = 32, tile_threads = 256, tile_part = tile_threads / tile, tile_sums = tile / tile_part;

__device__ bool is_empty(const prepared_components<double>& in, unsigned k) { return in.log_constants[k] == -INFINITY; }

std::size_t triangle_tiles(std::size_t columns) { return (columns + tile - 1) / tile; }

// Element (i, j) of Σ z zᵀ, i <= j.
__device__ double moved_second(const learnt_rows& rows, const double* origin, unsigned columns, unsigned i,
                               unsigned j) {
  const double di = rows.centre[i] - origin[i], dj = rows.centre[j] - origin[j];
  return rows.second[statistics_layout::triangle_row(columns, i) + j] + di * rows.first[j] +
         dj * fma(*rows.weight, di, rows.first[i]);
}

// Origin and deviation of one column. Block j.
__global__ void __launch_bounds__(threads)
    place_column(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                 const learnt_rows rows, const spherical_mixture mixture, const int* stopped) {
  cuda::wait_for_predecessor();
  const cuda::block_group block;
  const unsigned d = layout.columns, j = blockIdx.x;
  if (j == 0 && block.rank == 0) {
    *mixture.own_stopped = *stopped != 0 ? 1 : 0;
    *mixture.other_stopped = 1;
  }
  if (*stopped != 0) return;
  double sum = 0, count = 0, precision = 0;
  for (unsigned k = block.rank; k < layout.components; k += block.size) {
    if (is_empty(in, k)) continue;
    sum += in.centres[std::size_t{k} * d + j];
    count += 1;
  }
  for (unsigned l = j + block.rank; l < d; l += block.size) {
    const double factor = in.factors[std::size_t{j} * d + l];
    precision = fma(factor, factor, precision);
  }
  sum = block.sum(sum);
  count = block.sum(count);
  precision = block.sum(precision);
  if (block.rank != 0) return;
  const double root = sqrt(precision);
  const bool usual = root > 1e-30 && root < 1e30;
  const double inverse = usual ? scalbn(1.0, ilogb(root)) : 1;
  const double origin = count > 0 ? sum / count : 0;
  mixture.origin[j] = origin;
  mixture.factors[j] = inverse;
  double norm = INFINITY;  // nothing is known
  if (usual && rows.centre != nullptr && fabs(origin * inverse) <= 1e30) {
    norm = moved_second(rows, mixture.origin, d, j, j) * inverse * inverse / *rows.weight;
  }
  mixture.norms[j] = norm;
}

// Kernels that find some distances in float32 and others in float64 sum both about the same centre.
__device__ void place_in_float(const spherical_mixture& mixture, std::size_t at, double mean, double inverse) {
  const auto centre = static_cast<float>(mean);
  const double offset = (static_cast<double>(centre) - mean) * inverse;
  mixture.centres[at] = static_cast<double>(centre);
  mixture.offsets[at] = offset;
  mixture.in_float.centres[at] = centre;
  mixture.in_float.offsets[at] = static_cast<float>(offset);
  mixture.in_float.factors[at] = static_cast<float>(inverse);
}

// Component k. `place_column` has left the factors of the first one. Block k.
__global__ void __launch_bounds__(factor_threads)
    pack_component(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                   const spherical_mixture mixture, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const cuda::block_group block;
  const unsigned k = blockIdx.x, d = layout.columns;
  const bool empty = is_empty(in, k);
  extern __shared__ double memory[];
  double* const distance = memory;  // [d]
  double* const line = memory + d;  // [d]
  const std::size_t own = std::size_t{k} * d;
  double norm = 0;
  for (unsigned i = block.rank; i < d; i += block.size) {
    distance[i] = empty ? 0 : in.centres[own + i] - mixture.origin[i];
    norm += mixture.norms[i];
  }
  block.sync();
  // Uᵀ(μₖ − m)
  double squared_line = 0;
  for (unsigned j = block.rank; j < d; j += block.size) {
    double sum = 0;
    if (!empty) {
      sum = -in.offsets[own + j];
      for (unsigned i = 0; i <= j; ++i) sum = fma(in.factors[std::size_t{i} * d + j], distance[i], sum);
    }
    line[j] = sum;
    squared_line = fma(sum, sum, squared_line);
  }
  block.sync();
  const unsigned lane = threadIdx.x % cuda::warp_size;
  double squared_distance = 0;
  bool near = true;
  for (unsigned i = threadIdx.x / cuda::warp_size; i < d; i += factor_warps) {
    double slope = 0;
    for (unsigned j = i + lane; j < d; j += cuda::warp_size) {
      slope = fma(in.factors[std::size_t{i} * d + j], line[j], slope);
    }
    slope = cuda::warp_sum(slope);
    if (lane != 0) continue;
    const double inverse = mixture.factors[i], from_origin = slope / inverse;
    near = near && fabs(from_origin) <= most_column_distance;  // a comparison that a NaN fails
    squared_distance = fma(from_origin, from_origin, squared_distance);
    const double mean = mixture.origin[i] + (empty ? 0 : from_origin / inverse);
    if (k != 0) mixture.factors[own + i] = inverse;
    if (mixture.in_float.centres != nullptr) {
      place_in_float(mixture, own + i, mean, inverse);
    } else {
      mixture.centres[own + i] = mean;
      mixture.offsets[own + i] = 0;
    }
  }
  norm = block.sum(norm);
  squared_line = block.sum(squared_line);
  squared_distance = block.sum(squared_distance);
  near = near && squared_distance <= most_squared_distance(d) && norm <= most_mean_norm(d);
  if (!near) {
    *mixture.own_stopped = 1;
    *mixture.other_stopped = 0;
  }
  if (block.rank != 0) return;
  const double constant = empty ? -INFINITY : in.log_constants[k] + 0.5 * (squared_distance - squared_line);
  mixture.log_constants[k] = constant;
  if (mixture.in_float.log_constants != nullptr) mixture.in_float.log_constants[k] = static_cast<float>(constant);
}

// Weight and first moments of component k, about its own centre. Block k.
__global__ void __launch_bounds__(threads)
    leave_component(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                    const spherical_mixture mixture, const kernel_layout from, const double* sums, double* statistics) {
  cuda::wait_for_predecessor();
  if (*mixture.own_stopped != 0) return;
  const unsigned k = blockIdx.x, d = layout.columns;
  const double* const spherical = sums + from.header + k * from.component_size;
  double* const component = statistics + layout.header + k * layout.component_size;
  const bool empty = is_empty(in, k);
  const double weight = empty ? 0 : spherical[from.weight];
  for (unsigned j = threadIdx.x; j < d; j += threads) {
    const std::size_t at = std::size_t{k} * d + j;
    component[j] = empty ? 0 : fma(weight, mixture.centres[at] - in.centres[at], spherical[1 + j]);
  }
  if (threadIdx.x == 0) component[layout.weight] = weight;
}

// What tiles of the upper triangle are made of: numbers of the tile's rows and of its columns, so many terms at a time.
struct tile_stage {
  double rows[2][tile][tile + 1], columns[2][tile][tile + 1];
};

// A tile of the triangle that all components share, and what log-likelihoods lack of it: the difference between the
// squares of the spherical mixture and of the tied one. Block (column, row) of the tiles.
__global__ void __launch_bounds__(tile_threads)
    leave_triangle(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                   const learnt_rows rows, const spherical_mixture mixture, double* statistics, double* scores) {
  cuda::wait_for_predecessor();
  if (*mixture.own_stopped != 0) return;
  const cuda::block_group block;
  const unsigned d = layout.columns, across = threadIdx.x % tile, down = threadIdx.x / tile;
  const unsigned first_i = blockIdx.y * tile, first_j = blockIdx.x * tile, j = first_j + across;
  double* const score = scores + blockIdx.y * gridDim.x + blockIdx.x;
  if (blockIdx.x < blockIdx.y) {
    if (threadIdx.x == 0) *score = 0;
    return;
  }
  __shared__ tile_stage stage;
  double precision[tile_sums] = {}, of_centres[tile_sums] = {};
  for (unsigned first = first_j; first < d; first += tile) {
    for (unsigned r = down; r < tile; r += tile_part) {
      const unsigned l = first + across, row = first_i + r, column = first_j + r;
      stage.rows[0][r][across] = l < d && row <= l ? in.factors[std::size_t{row} * d + l] : 0;
      stage.columns[0][r][across] = l < d && column <= l ? in.factors[std::size_t{column} * d + l] : 0;
    }
    __syncthreads();
    for (unsigned l = 0; l < tile; ++l) {
#pragma unroll
      for (unsigned part = 0; part < tile_sums; ++part) {
        precision[part] = fma(stage.rows[0][down + part * tile_part][l], stage.columns[0][across][l], precision[part]);
      }
    }
    __syncthreads();
  }
  for (unsigned first = 0; first < layout.components; first += tile) {
    for (unsigned r = down; r < tile; r += tile_part) {
      const unsigned k = first + r, i = first_i + across;
      const bool counts = k < layout.components && !is_empty(in, k);
      const double* const component = statistics + layout.header + k * layout.component_size;
      const double* const centre = in.centres + std::size_t{k} * d;
      const double from_i = counts && i < d ? centre[i] - mixture.origin[i] : 0;
      const double from_j = counts && j < d ? centre[j] - mixture.origin[j] : 0;
      stage.rows[0][r][across] = from_i;
      stage.rows[1][r][across] = counts && i < d ? component[i] : 0;
      stage.columns[0][r][across] = from_j;
      stage.columns[1][r][across] = counts && j < d ? fma(component[layout.weight], from_j, component[j]) : 0;
    }
    __syncthreads();
    for (unsigned k = 0; k < tile; ++k) {
#pragma unroll
      for (unsigned part = 0; part < tile_sums; ++part) {
        const unsigned row = down + part * tile_part;
        of_centres[part] += fma(stage.rows[1][k][row], stage.columns[0][k][across],
                                stage.rows[0][k][row] * stage.columns[1][k][across]);
      }
    }
    __syncthreads();
  }
  double sum = 0;
#pragma unroll
  for (unsigned part = 0; part < tile_sums; ++part) {
    const unsigned i = first_i + down + part * tile_part;
    if (i > j || j >= d) continue;
    const double second = moved_second(rows, mixture.origin, d, i, j);
    const double inverse = mixture.factors[i];
    sum += i == j ? 0.5 * (inverse * inverse - precision[part]) * second : -precision[part] * second;
    statistics[layout.shared + statistics_layout::triangle_row(d, i) + j] = second - of_centres[part];
  }
  sum = block.sum(sum);
  if (block.rank == 0) *score = sum;
}

__global__ void leave_header(const kernel_layout layout, const spherical_mixture mixture, const double* sums,
                             const double* scores, unsigned count, double* statistics) {
  cuda::wait_for_predecessor();
  if (*mixture.own_stopped != 0) return;
  double score = 0;
  for (unsigned i = threadIdx.x; i < count; i += cuda::warp_size) score += scores[i];
  score = cuda::warp_sum(score);
  for (unsigned i = threadIdx.x; i < layout.header; i += cuda::warp_size) {
    statistics[i] = sums[i] + (i == log_likelihood_at ? score : 0);
  }
}

template <class Scalar>
__global__ void __launch_bounds__(threads)
    place_centre_kernel(const Scalar* rows, std::size_t count, unsigned columns, double* centre) {
  cuda::wait_for_predecessor();
  const cuda::block_group block;
  double sum = 0;
  for (std::size_t r = block.rank; r < count; r += block.size) {
    sum += static_cast<double>(rows[r * columns + blockIdx.x]);
  }
  sum = block.sum(sum);
  if (block.rank == 0) centre[blockIdx.x] = sum / static_cast<double>(count);
}

}  // namespace

void pack(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
          const spherical_mixture& mixture, const int* stopped, cudaStream_t stream) {
  cuda::launch_in_turn(place_column, layout.columns, threads, 0, stream, layout, in, rows, mixture, stopped);
  const std::size_t bytes = 2 * sizeof(double) * layout.columns;
  cuda::launch_in_turn(pack_component, layout.components, factor_threads, bytes, stream, layout, in, mixture, stopped);
}

void leave(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
           const spherical_mixture& mixture, const kernel_layout& sums_layout, const double* sums, double* scores,
           double* statistics, cudaStream_t stream) {
  cuda::launch_in_turn(leave_component, layout.components, threads, 0, stream, layout, in, mixture, sums_layout, sums,
                       statistics);
  const auto tiles = static_cast<unsigned>(triangle_tiles(layout.columns));
  cuda::launch_in_turn(leave_triangle, dim3(tiles, tiles), tile_threads, 0, stream, layout, in, rows, mixture,
                       statistics, scores);
  cuda::launch_in_turn(leave_header, 1, cuda::warp_size, 0, stream, layout, mixture, sums, scores, tiles * tiles,
                       statistics);
}

std::size_t scores_size(const kernel_layout& layout) {
  return triangle_tiles(layout.columns) * triangle_tiles(layout.columns);
}

template <class Scalar>
void place_centre(const Scalar* rows, std::size_t count, unsigned columns, double* centre, cudaStream_t stream) {
  cuda::launch_in_turn(place_centre_kernel<Scalar>, columns, threads, 0, stream, rows, std::min(count, centre_rows),
                       columns, centre);
}
template void place_centre(const float*, std::size_t, unsigned, double*, cudaStream_t);
template void place_centre(const double*, std::size_t, unsigned, double*, cudaStream_t);

}  // namespace shoal::gmm::tied
