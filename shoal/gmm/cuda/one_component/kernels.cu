#include <shoal/gmm/cuda/one_component/kernels.hpp>

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>

namespace shoal::gmm::one_component {
namespace {

// The triangle of products of columns is made in tiles of so many; a thread has tile_sums of a column.
constexpr unsigned tile = 32, threads = 256, tile_part = threads / tile, tile_sums = tile / tile_part;

std::size_t tiles_of(const kernel_layout& layout) { return (layout.columns + tile - 1) / tile; }

// A tile of the statistics, and its part of Σ ‖y‖² with y = Uᵀ(x − c) + b: of tr UUᵀ Σ (x − c)(x − c)ᵀ + 2 bᵀUᵀ Σ (x −
// c)
// + Σ bᵀb, whose last two terms belong to the tiles of the diagonal. Block (column, row) of the tiles.
__global__ void __launch_bounds__(threads)
    leave_triangle(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                   const tied::learnt_rows rows, double* scores, double* statistics, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const cuda::block_group block;
  const unsigned d = layout.columns, across = threadIdx.x % tile, down = threadIdx.x / tile;
  const unsigned first_i = blockIdx.y * tile, first_j = blockIdx.x * tile, j = first_j + across;
  double* const score = scores + blockIdx.y * gridDim.x + blockIdx.x;
  if (blockIdx.x < blockIdx.y) {
    if (threadIdx.x == 0) *score = 0;
    return;
  }
  const bool diagonal = blockIdx.x == blockIdx.y;
  __shared__ double factor_rows[tile][tile + 1], factor_columns[tile][tile + 1], offsets[tile];
  double precision[tile_sums] = {}, line = 0;
  for (unsigned first = first_j; first < d; first += tile) {
    const unsigned l = first + across;
    for (unsigned r = down; r < tile; r += tile_part) {
      const unsigned row = first_i + r, column = first_j + r;
      factor_rows[r][across] = l < d && row <= l ? in.factors[std::size_t{row} * d + l] : 0;
      factor_columns[r][across] = l < d && column <= l ? in.factors[std::size_t{column} * d + l] : 0;
    }
    if (down == 0) offsets[across] = l < d ? in.offsets[l] : 0;
    __syncthreads();
    for (unsigned c = 0; c < tile; ++c) {
      const double own = factor_columns[across][c];
#pragma unroll
      for (unsigned part = 0; part < tile_sums; ++part) {
        precision[part] = fma(factor_rows[down + part * tile_part][c], own, precision[part]);
      }
      if (diagonal && down == 0) line = fma(own, offsets[c], line);
    }
    __syncthreads();
  }
  const bool tied = layout.type == covariance_type::tied;
  const unsigned order = tied ? d : d + 1;
  double* const component = statistics + layout.header;
  double* const triangle = tied ? statistics + layout.shared : component;
  const double weight = *rows.weight;
  const auto moved = [&](unsigned column) { return rows.centre[column] - in.centres[column]; };
  const double dj = j < d ? moved(j) : 0, first_moment = j < d ? fma(weight, dj, rows.first[j]) : 0;
  double sum = 0;
#pragma unroll
  for (unsigned part = 0; part < tile_sums; ++part) {
    const unsigned i = first_i + down + part * tile_part;
    if (i > j || j >= d) continue;
    const double second =
        rows.second[statistics_layout::triangle_row(d, i) + j] + moved(i) * first_moment + dj * rows.first[i];
    sum = fma(i == j ? precision[part] : 2 * precision[part], second, sum);
    triangle[statistics_layout::triangle_row(order, i) + j] = second;
  }
  if (diagonal && down == 0 && j < d) {
    sum += 2 * line * first_moment + weight * in.offsets[j] * in.offsets[j];
    component[tied ? j : statistics_layout::triangle_row(order, j) + d] = first_moment;
    if (j == 0) component[layout.weight] = weight;
  }
  sum = block.sum(sum);
  if (block.rank == 0) *score = sum;
}

__global__ void leave_header(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                             const tied::learnt_rows rows, const double* scores, unsigned count, double* statistics,
                             const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  double norms = 0;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < count; i += cuda::warp_size) norms += scores[i];
  norms = cuda::warp_sum(norms);
  const double weight = *rows.weight;
  for (unsigned i = threadIdx.x; i < layout.header; i += cuda::warp_size) {
    statistics[i] = i == log_likelihood_at ? fma(weight, in.log_constants[0] + *in.log_shift, -0.5 * norms)
                    : i == total_weight_at ? weight
                                           : 0.0;
  }
}

}  // namespace

void leave(const kernel_layout& layout, const prepared_components<double>& in, const tied::learnt_rows& rows,
           double* scores, double* statistics, const int* stopped, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(tiles_of(layout));
  cuda::launch_in_turn(leave_triangle, dim3(tiles, tiles), threads, 0, stream, layout, in, rows, scores, statistics,
                       stopped);
  cuda::launch_in_turn(leave_header, 1, cuda::warp_size, 0, stream, layout, in, rows, scores, tiles * tiles, statistics,
                       stopped);
}

std::size_t scores_size(const kernel_layout& layout) { return tiles_of(layout) * tiles_of(layout); }

}  // namespace shoal::gmm::one_component
