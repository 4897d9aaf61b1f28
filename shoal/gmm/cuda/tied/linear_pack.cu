// A tied mixture as linear functions of a row, for linear_sums.cu.
#include <cuda_runtime.h>

#include <cmath>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>
#include <shoal/gmm/cuda/tied/linear.hpp>

namespace shoal::gmm::tied {
namespace {

constexpr unsigned threads = 512, warps = threads / cuda::warp_size;

// Columns or rows of U that a block multiplies all components with: its warps divide what is summed over.
constexpr unsigned group_columns = 8;

__host__ __device__ constexpr unsigned groups_of(unsigned columns) {
  return (columns + group_columns - 1) / group_columns;
}

// Squares of the triangle of P that a block makes: of two parts, each by a warp for each tile of 16 × 8.
constexpr unsigned side = 32;

__host__ __device__ constexpr unsigned sides_of(unsigned columns) { return (columns + side - 1) / side; }

__device__ void leave_to_others(const linear_memory& memory) {
  *memory.stopped = 1;
  *memory.other_stopped = 0;
}

__device__ bool is_empty(const prepared_components<double>& in, unsigned k) { return in.log_constants[k] == -INFINITY; }

// Σ left(component, l) · right(column of the group, l) over l = begin … end − 1, of sixteen components from `first` on,
// by a block; calls use(component, column of the group, sum) for each.
template <class Left, class Right, class Use>
__device__ void multiply_group(unsigned begin, unsigned end, unsigned first, const Left& left, const Right& right,
                               const Use& use) {
  constexpr unsigned components = 16;
  __shared__ double parts[warps][components * group_columns];
  const unsigned warp = threadIdx.x / cuda::warp_size, thread = threadIdx.x % cuda::warp_size;
  const unsigned group = thread / 4, place = thread % 4;
  double product[4] = {};
#pragma unroll 4
  for (unsigned l = begin + 8 * warp; l < end; l += 8 * warps) {
    const unsigned near = l + place, far = near + 4;
    const double a[4] = {left(first + group, near), left(first + group + 8, near), left(first + group, far),
                         left(first + group + 8, far)};
    const double b[2] = {right(group, near), right(group, far)};
    tensor_float64::multiply_add(product, a, b);
  }
#pragma unroll
  for (unsigned e = 0; e < 4; ++e) {
    parts[warp][(group + 8 * (e / 2)) * group_columns + 2 * place + e % 2] = product[e];
  }
  __syncthreads();
  if (threadIdx.x < components * group_columns) {
    double sum = 0;
#pragma unroll
    for (unsigned other = 0; other < warps; ++other) sum += parts[other][threadIdx.x];
    use(first + threadIdx.x / group_columns, threadIdx.x % group_columns, sum);
  }
  __syncthreads();
}

// Uᵀ(μₖ − m) of a group's columns, for the components of a row of blocks.
__device__ void make_lines(const kernel_layout& layout, const prepared_components<double>& in, const double* origin,
                           unsigned number, const linear_memory& memory) {
  const unsigned d = layout.columns, K = layout.components, first_column = number * group_columns;
  const auto distance = [&](unsigned k, unsigned i) {
    return k < K && i < d ? in.centres[std::size_t{k} * d + i] - origin[i] : 0;
  };
  const auto factor = [&](unsigned c, unsigned i) {
    const unsigned column = first_column + c;
    return column < d && i <= column ? in.factors[std::size_t{i} * d + column] : 0;
  };
  for (unsigned first = 16 * blockIdx.y; first < K; first += 16 * gridDim.y) {
    multiply_group(0, min(d, first_column + group_columns), first, distance, factor,
                   [&](unsigned k, unsigned c, double sum) {
                     const unsigned column = first_column + c;
                     if (k >= K || column >= d) return;
                     const std::size_t at = std::size_t{k} * d + column;
                     memory.lines[at] = is_empty(in, k) ? 0 : sum - in.offsets[at];
                   });
  }
}

// aₖ of a group's rows, likewise.
__device__ void make_slopes(const kernel_layout& layout, const linear_plan& plan, const prepared_components<double>& in,
                            unsigned number, const linear_memory& memory) {
  const unsigned d = layout.columns, K = layout.components, first_row = number * group_columns;
  const auto line = [&](unsigned k, unsigned j) { return k < K && j < d ? memory.lines[std::size_t{k} * d + j] : 0; };
  const auto factor = [&](unsigned r, unsigned j) {
    const unsigned row = first_row + r;
    return row <= j && j < d ? in.factors[std::size_t{row} * d + j] : 0;
  };
  for (unsigned first = 16 * blockIdx.y; first < K; first += 16 * gridDim.y) {
    multiply_group(first_row, d, first, line, factor, [&](unsigned k, unsigned r, double sum) {
      if (k < K && first_row + r < d) memory.slopes[k * plan.stride() + first_row + r] = sum;
    });
  }
}

// The constants of these components, a warp each.
__device__ void make_constants(const kernel_layout& layout, const prepared_components<double>& in,
                               const linear_memory& memory, double most_norm) {
  const unsigned d = layout.columns, lane = threadIdx.x % cuda::warp_size;
  for (unsigned k = blockIdx.y * warps + threadIdx.x / cuda::warp_size; k < layout.components; k += gridDim.y * warps) {
    double squared = 0;
#pragma unroll 4
    for (unsigned j = lane; j < d; j += cuda::warp_size) {
      const double line = memory.lines[std::size_t{k} * d + j];
      squared = fma(line, line, squared);
    }
    squared = cuda::warp_sum(squared);
    if (lane != 0) continue;
    const bool empty = is_empty(in, k);
    memory.constants[k] = empty ? -INFINITY : in.log_constants[k] - 0.5 * squared;
    if (!empty && !(squared <= most_norm)) leave_to_others(memory);  // a comparison that a NaN fails
  }
}

// What a square of P adds to −Σ zᵀPz/2, and to the squared length of a row in its own columns' deviations.
__device__ void add_square(const kernel_layout& layout, const prepared_components<double>& in, const learnt_rows& rows,
                           unsigned number, const linear_memory& memory, double most_norm) {
  const cuda::block_group block;
  const unsigned d = layout.columns, sides = sides_of(d);
  unsigned down = 0, across = number;
  while (across >= sides - down) across -= sides - down++;
  across += down;
  constexpr unsigned places = 8;  // tiles of a square
  const unsigned warp = threadIdx.x / cuda::warp_size, thread = threadIdx.x % cuda::warp_size;
  const unsigned group = thread / 4, place = thread % 4, tile = warp % places, part = warp / places;
  const unsigned row = down * side + 16 * (tile / 4) + group, column = across * side + 8 * (tile % 4);
  double product[4] = {};
  const auto factor = [&](unsigned i, unsigned l) { return i <= l && l < d ? in.factors[std::size_t{i} * d + l] : 0; };
#pragma unroll 4
  for (unsigned l = across * side + 8 * part; l < d; l += 8 * (warps / places)) {
    const double a[4] = {factor(row, l + place), factor(row + 8, l + place), factor(row, l + place + 4),
                         factor(row + 8, l + place + 4)};
    const double b[2] = {factor(column + group, l + place), factor(column + group, l + place + 4)};
    tensor_float64::multiply_add(product, a, b);
  }
  double sum = 0, norm = 0;
#pragma unroll
  for (unsigned e = 0; e < 4; ++e) {
    const unsigned i = row + 8 * (e / 2), j = column + 2 * place + e % 2;
    if (i > j || j >= d) continue;
    const double value = product[e] * rows.second[statistics_layout::triangle_row(d, i) + j];
    sum -= i == j ? 0.5 * value : value;
    norm += i == j ? value : 0;
  }
  sum = block.sum(sum);
  norm = block.sum(norm);
  if (threadIdx.x != 0) return;
  memory.traces[number] = sum;
  if (!(norm <= most_norm * *rows.weight)) leave_to_others(memory);
}

// Of a row of blocks the first ones have a group of columns each, the others of the first row a square of P.
__global__ void __launch_bounds__(threads)
    pack_lines(const kernel_layout layout, const __grid_constant__ prepared_components<double> in,
               const learnt_rows rows, const linear_memory memory, double most_norm, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  const unsigned groups = groups_of(layout.columns);
  if (rows.centre == nullptr) {
    if (blockIdx.x == 0 && threadIdx.x == 0) leave_to_others(memory);
  } else if (blockIdx.x < groups) {
    make_lines(layout, in, rows.centre, blockIdx.x, memory);
  } else if (blockIdx.y == 0) {
    add_square(layout, in, rows, blockIdx.x - groups, memory, most_norm);
  }
}

// Of a row of blocks the first ones have a group of rows each, the last one constants.
__global__ void __launch_bounds__(threads)
    pack_slopes(const kernel_layout layout, const linear_plan plan,
                const __grid_constant__ prepared_components<double> in, const linear_memory memory, double most_norm,
                const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped != 0) return;
  if (blockIdx.x < groups_of(layout.columns)) {
    make_slopes(layout, plan, in, blockIdx.x, memory);
  } else {
    make_constants(layout, in, memory, most_norm);
  }
}

}  // namespace

std::size_t linear_traces(const kernel_layout& layout) {
  const std::size_t sides = sides_of(layout.columns);
  return sides * (sides + 1) / 2;
}

void pack_linear(const kernel_layout& layout, const linear_plan& plan, const prepared_components<double>& in,
                 const learnt_rows& rows, const linear_memory& memory, double most_norm, const int* stopped,
                 cudaStream_t stream) {
  const unsigned groups = groups_of(layout.columns), squares = static_cast<unsigned>(linear_traces(layout));
  const unsigned tiles = (layout.components + 15) / 16;
  cuda::launch_in_turn(pack_lines, dim3(groups + squares, tiles), threads, 0, stream, layout, in, rows, memory,
                       most_norm, stopped);
  cuda::launch_in_turn(pack_slopes, dim3(groups + 1, tiles), threads, 0, stream, layout, plan, in, memory, most_norm,
                       stopped);
}

}  // namespace shoal::gmm::tied
