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
// Of a block that looks at a column of all components: of so many, more.
constexpr unsigned many_components = 512, many_threads = 512;

// Of blocks that go through the common factor.
constexpr unsigned factor_threads = 512, factor_warps = factor_threads / cuda::warp_size;
// Of few columns a warp has a component.
constexpr unsigned most_warp_columns = 32;

// The triangle that components share is made in tiles of so many rows and columns; a thread has tile_sums of a column.
constexpr unsigned tile = 32, tile_threads = 256, tile_part = tile_threads / tile, tile_sums = tile / tile_part;

__device__ bool is_empty(const prepared_components<double>& in, unsigned k) { return in.log_constants[k] == -INFINITY; }

// Element (i, j) of Σ z zᵀ, i <= j.
__device__ double moved_second(const learnt_rows& rows, const double* origin, unsigned columns, unsigned i,
                               unsigned j) {
  const double di = rows.centre[i] - origin[i], dj = rows.centre[j] - origin[j];
  return rows.second[statistics_layout::triangle_row(columns, i) + j] + di * rows.first[j] +
         dj * fma(*rows.weight, di, rows.first[i]);
}

// Origin and deviation of one column. Block j.
__global__ void __launch_bounds__(many_threads)
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
#pragma unroll 4
  for (unsigned k = block.rank; k < layout.components; k += block.size) {
    const double centre = in.centres[std::size_t{k} * d + j];
    const bool counts = !is_empty(in, k);
    sum += counts ? centre : 0;
    count += counts ? 1 : 0;
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

// The terms of row i of U and Uᵀ(μₖ − m): all rows of them, by warps of a block or by lanes of a warp. `use(i, slope)`
// is called by one thread for each.
template <class Use>
__device__ void for_each_slope(const cuda::block_group& block, const prepared_components<double>& in, unsigned d,
                               const double* line, const Use& use) {
  const unsigned lane = block.rank % cuda::warp_size;
  for (unsigned i = block.rank / cuda::warp_size; i < d; i += block.size / cuda::warp_size) {
    double slope = 0;
    for (unsigned j = i + lane; j < d; j += cuda::warp_size) {
      slope = fma(in.factors[std::size_t{i} * d + j], line[j], slope);
    }
    slope = cuda::warp_sum(slope);
    if (lane == 0) use(i, slope);
  }
}
template <class Use>
__device__ void for_each_slope(const cuda::warp_group& warp, const prepared_components<double>& in, unsigned d,
                               const double* line, const Use& use) {
  for (unsigned i = warp.rank; i < d; i += warp.size) {
    double slope = 0;
#pragma unroll 8
    for (unsigned j = i; j < d; ++j) slope = fma(in.factors[std::size_t{i} * d + j], line[j], slope);
    use(i, slope);
  }
}

// Component k, by a group with room for 2 d numbers. `place_column` has left the factors of the first one.
template <class Group>
__device__ void pack_component(const Group& group, const kernel_layout& layout, const prepared_components<double>& in,
                               const spherical_mixture& mixture, unsigned k, double* memory) {
  const unsigned d = layout.columns;
  const bool empty = is_empty(in, k);
  double* const distance = memory;  // [d]
  double* const line = memory + d;  // [d]
  const std::size_t own = std::size_t{k} * d;
  double norm = 0;
  for (unsigned i = group.rank; i < d; i += group.size) {
    distance[i] = empty ? 0 : in.centres[own + i] - mixture.origin[i];
    norm += mixture.norms[i];
  }
  group.sync();
  // Uᵀ(μₖ − m)
  double squared_line = 0;
  for (unsigned j = group.rank; j < d; j += group.size) {
    double sum = 0;
    if (!empty) {
      sum = -in.offsets[own + j];
      for (unsigned i = 0; i <= j; ++i) sum = fma(in.factors[std::size_t{i} * d + j], distance[i], sum);
    }
    line[j] = sum;
    squared_line = fma(sum, sum, squared_line);
  }
  group.sync();
  double squared_distance = 0;
  bool near = true;
  for_each_slope(group, in, d, line, [&](unsigned i, double slope) {
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
  });
  norm = group.sum(norm);
  squared_line = group.sum(squared_line);
  squared_distance = group.sum(squared_distance);
  near = near && squared_distance <= most_squared_distance(d) && norm <= most_mean_norm(d);
  if (!near) {
    *mixture.own_stopped = 1;
    *mixture.other_stopped = 0;
  }
  if (group.rank != 0) return;
  const double constant = empty ? -INFINITY : in.log_constants[k] + 0.5 * (squared_distance - squared_line);
  mixture.log_constants[k] = constant;
  if (mixture.in_float.log_constants != nullptr) mixture.in_float.log_constants[k] = static_cast<float>(constant);
}

__global__ void __launch_bounds__(factor_threads)
    pack_by_blocks(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                   const spherical_mixture mixture, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  extern __shared__ double memory[];
  pack_component(cuda::block_group(), layout, in, mixture, blockIdx.x, memory);
}

__global__ void __launch_bounds__(factor_threads)
    pack_by_warps(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
                  const spherical_mixture mixture, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  __shared__ double memory[factor_warps][2 * most_warp_columns];
  const unsigned warp = threadIdx.x / cuda::warp_size, k = blockIdx.x * factor_warps + warp;
  if (k < layout.components) pack_component(cuda::warp_group(), layout, in, mixture, k, memory[warp]);
}

// A component's weight and first moments about its own centre, from those of the spherical mixture.
struct first_moments {
  kernel_layout layout, from;
  const double* sums;

  __device__ const double* of(unsigned k) const { return sums + from.header + k * from.component_size; }
  __device__ double weight(const prepared_components<double>& in, unsigned k) const {
    return is_empty(in, k) ? 0 : of(k)[from.weight];
  }
  __device__ double moment(const prepared_components<double>& in, const spherical_mixture& mixture, unsigned k,
                           unsigned j) const {
    const std::size_t at = std::size_t{k} * layout.columns + j;
    return is_empty(in, k) ? 0 : fma(of(k)[from.weight], mixture.centres[at] - in.centres[at], of(k)[1 + j]);
  }
};

// A thread for each column of a component.
__device__ void leave_components(const prepared_components<double>& in, const spherical_mixture& mixture,
                                 const first_moments& moments, double* statistics) {
  const kernel_layout& layout = moments.layout;
  const unsigned element = blockIdx.x * blockDim.x + threadIdx.x, k = element / layout.columns;
  const unsigned j = element % layout.columns;
  if (k >= layout.components) return;
  double* const component = statistics + layout.header + k * layout.component_size;
  component[j] = moments.moment(in, mixture, k, j);
  if (j == 0) component[layout.weight] = moments.weight(in, k);
}

// What squares of the upper triangle are made of: numbers of the square's rows and of its columns, so many terms at a
// time.
struct tile_stage {
  double rows[2][tile][tile + 1], columns[2][tile][tile + 1];
};

// True in the last of `count` blocks to come; what the others wrote before is visible to it.
__device__ bool is_last(const cuda::block_group& block, unsigned* came, unsigned count) {
  __shared__ bool last;
  if (count == 1) return true;
  block.sync();
  if (block.rank == 0) {
    __threadfence();
    last = atomicAdd(came, 1) + 1 == count;
    if (last) *came = 0;
  }
  block.sync();
  if (last) __threadfence();
  return last;
}

// Σ over a slice of the components of what their centres account for in a square, (down, across) of the squares.
__device__ void add_centres(const prepared_components<double>& in, const spherical_mixture& mixture,
                            const first_moments& moments, unsigned down, unsigned across, unsigned begin, unsigned end,
                            tile_stage& stage, double (&of_centres)[tile_sums]) {
  const unsigned d = moments.layout.columns, x = threadIdx.x % tile, y = threadIdx.x / tile;
  for (unsigned first = begin; first < end; first += tile) {
    for (unsigned r = y; r < tile; r += tile_part) {
      const unsigned k = first + r, i = down * tile + x, j = across * tile + x;
      const bool counts = k < end && !is_empty(in, k);
      const double* const centre = in.centres + std::size_t{k} * d;
      const double from_i = counts && i < d ? centre[i] - mixture.origin[i] : 0;
      const double from_j = counts && j < d ? centre[j] - mixture.origin[j] : 0;
      stage.rows[0][r][x] = from_i;
      stage.rows[1][r][x] = counts && i < d ? moments.moment(in, mixture, k, i) : 0;
      stage.columns[0][r][x] = from_j;
      stage.columns[1][r][x] =
          counts && j < d ? fma(moments.weight(in, k), from_j, moments.moment(in, mixture, k, j)) : 0;
    }
    __syncthreads();
    for (unsigned k = 0; k < min(tile, end - first); ++k) {
#pragma unroll
      for (unsigned part = 0; part < tile_sums; ++part) {
        const unsigned row = y + part * tile_part;
        of_centres[part] +=
            fma(stage.rows[1][k][row], stage.columns[0][k][x], stage.rows[0][k][row] * stage.columns[1][k][x]);
      }
    }
    __syncthreads();
  }
}

// The same of P.
__device__ void add_precision(const prepared_components<double>& in, unsigned d, unsigned down, unsigned across,
                              tile_stage& stage, double (&precision)[tile_sums]) {
  const unsigned x = threadIdx.x % tile, y = threadIdx.x / tile;
  for (unsigned first = across * tile; first < d; first += tile) {
    for (unsigned r = y; r < tile; r += tile_part) {
      const unsigned l = first + x, row = down * tile + r, column = across * tile + r;
      stage.rows[0][r][x] = l < d && row <= l ? in.factors[std::size_t{row} * d + l] : 0;
      stage.columns[0][r][x] = l < d && column <= l ? in.factors[std::size_t{column} * d + l] : 0;
    }
    __syncthreads();
    for (unsigned l = 0; l < tile; ++l) {
#pragma unroll
      for (unsigned part = 0; part < tile_sums; ++part) {
        precision[part] = fma(stage.rows[0][y + part * tile_part][l], stage.columns[0][x][l], precision[part]);
      }
    }
    __syncthreads();
  }
}

// How blocks share what is left: first the components, then each square of the triangle in slices of the components.
struct leaving {
  unsigned component_blocks, squares, slices;
};
constexpr unsigned slice_components = 4 * tile, most_slices = 64;

__host__ __device__ constexpr unsigned ceiling(unsigned a, unsigned b) { return (a + b - 1) / b; }

leaving plan_leaving(const kernel_layout& layout) {
  const unsigned sides = ceiling(layout.columns, tile);
  return {ceiling(layout.components * layout.columns, tile_threads), sides * (sides + 1) / 2,
          std::min(most_slices, ceiling(layout.components, slice_components))};
}

// What log-likelihoods lack is the difference between the squares of the spherical mixture and of the tied one.
__global__ void __launch_bounds__(tile_threads)
    leave_sums(const __grid_constant__ prepared_components<double> in, const learnt_rows rows,
               const spherical_mixture mixture, const __grid_constant__ first_moments moments, const leaving plan,
               const leaving_memory memory, const others_turn turn, double* statistics) {
  cuda::wait_for_predecessor();
  if (*mixture.own_stopped != 0) {
    const bool one = blockIdx.x == 0 && threadIdx.x == 0;
    if (one && turn.has_condition && *mixture.other_stopped == 0) cudaGraphSetConditional(turn.condition, 1);
    return;
  }
  if (blockIdx.x < plan.component_blocks) return leave_components(in, mixture, moments, statistics);
  const cuda::block_group block;
  const kernel_layout& layout = moments.layout;
  const unsigned number = blockIdx.x - plan.component_blocks, square = number / plan.slices;
  const unsigned slice = number % plan.slices, K = layout.components, d = layout.columns, sides = ceiling(d, tile);
  unsigned down = 0, across = square;
  while (across >= sides - down) across -= sides - down++;
  across += down;
  __shared__ tile_stage stage;
  double of_centres[tile_sums] = {}, precision[tile_sums] = {};
  const unsigned slice_tiles = ceiling(ceiling(K, tile), plan.slices), begin = min(slice * slice_tiles * tile, K);
  add_centres(in, mixture, moments, down, across, begin, min(begin + slice_tiles * tile, K), stage, of_centres);
  if (plan.slices > 1) {
    double* const parts = memory.parts + (square * plan.slices * tile_sums) * tile_threads + threadIdx.x;
#pragma unroll
    for (unsigned part = 0; part < tile_sums; ++part) {
      parts[(slice * tile_sums + part) * tile_threads] = of_centres[part];
    }
    if (!is_last(block, memory.came + 1 + square, plan.slices)) return;
#pragma unroll
    for (unsigned part = 0; part < tile_sums; ++part) {
      double sum = 0;
#pragma unroll 8
      for (unsigned other = 0; other < plan.slices; ++other) {
        sum += __ldcg(parts + (other * tile_sums + part) * tile_threads);
      }
      of_centres[part] = sum;
    }
  }
  add_precision(in, d, down, across, stage, precision);
  double sum = 0;
#pragma unroll
  for (unsigned part = 0; part < tile_sums; ++part) {
    const unsigned i = down * tile + threadIdx.x / tile + part * tile_part, j = across * tile + threadIdx.x % tile;
    if (i > j || j >= d) continue;
    const double second = moved_second(rows, mixture.origin, d, i, j);
    const double inverse = mixture.factors[i];
    sum += i == j ? 0.5 * (inverse * inverse - precision[part]) * second : -precision[part] * second;
    statistics[layout.shared + statistics_layout::triangle_row(d, i) + j] = second - of_centres[part];
  }
  sum = block.sum(sum);
  if (block.rank == 0) memory.scores[down * sides + across] = sum;  // those below the diagonal are zero
  if (!is_last(block, memory.came, plan.squares) || block.rank >= cuda::warp_size) return;
  double score = 0;
  for (unsigned i = block.rank; i < sides * sides; i += cuda::warp_size) score += __ldcg(memory.scores + i);
  score = cuda::warp_sum(score);
  for (unsigned i = block.rank; i < layout.header; i += cuda::warp_size) {
    statistics[i] = moments.sums[i] + (i == log_likelihood_at ? score : 0);
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
  const unsigned K = layout.components, d = layout.columns;
  cuda::launch_in_turn(place_column, d, K > many_components ? many_threads : threads, 0, stream, layout, in, rows,
                       mixture, stopped);
  if (d <= most_warp_columns) {
    cuda::launch_in_turn(pack_by_warps, ceiling(K, factor_warps), factor_threads, 0, stream, layout, in, mixture,
                         stopped);
  } else {
    cuda::launch_in_turn(pack_by_blocks, K, factor_threads, 2 * sizeof(double) * d, stream, layout, in, mixture,
                         stopped);
  }
}

leaving_sizes sizes_of_leaving(const kernel_layout& layout) {
  const leaving plan = plan_leaving(layout);
  const std::size_t sides = ceiling(layout.columns, tile), square = std::size_t{tile} * tile;
  return {sides * sides, plan.slices > 1 ? plan.squares * plan.slices * square : 0, std::size_t{1} + plan.squares};
}

void leave(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
           const spherical_mixture& mixture, const kernel_layout& sums_layout, const double* sums,
           const leaving_memory& memory, const others_turn& turn, double* statistics, cudaStream_t stream) {
  const leaving plan = plan_leaving(layout);
  cuda::launch_in_turn(leave_sums, plan.component_blocks + plan.squares * plan.slices, tile_threads, 0, stream, in,
                       rows, mixture, first_moments{layout, sums_layout, sums}, plan, memory, turn, statistics);
}

template <class Scalar>
void place_centre(const Scalar* rows, std::size_t count, unsigned columns, double* centre, cudaStream_t stream) {
  cuda::launch_in_turn(place_centre_kernel<Scalar>, columns, threads, 0, stream, rows, std::min(count, centre_rows),
                       columns, centre);
}
template void place_centre(const float*, std::size_t, unsigned, double*, cudaStream_t);
template void place_centre(const double*, std::size_t, unsigned, double*, cudaStream_t);

}  // namespace shoal::gmm::tied
