// Gauss's elimination of (Σ | I) in tiles, which leaves L⁻¹ = Uᵀ in the place of I: a launch for each panel of rows, in
// which every tile below it takes the panel out of itself. The tile that is the next corner is factorised at once.
#include <algorithm>

#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/eliminate_wide.cuh>
#include <shoal/gmm/cuda/step/factorise_in_tiles.hpp>
#include <shoal/gmm/cuda/step/settle.cuh>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>

namespace shoal::gmm {
namespace {

constexpr unsigned side = tile_side;
constexpr std::size_t tile_size = std::size_t{side} * side;
constexpr unsigned tile_threads = 256;

// Numbers between rows of a tile in shared memory: eliminate_wide() wants it so.
__host__ __device__ constexpr unsigned tile_stride() { return side + 1; }
constexpr std::size_t shared_tile = std::size_t{side} * tile_stride();

// Memory of so many bytes for matrices at most: others wait their turn.
constexpr std::size_t most_bytes = std::size_t{128} << 20;

struct tiled_matrices {
  double* goes = nullptr;     // one value: 1 when there is anything to do
  double* corners = nullptr;  // [2][count][side][side] L⁻¹ of the last panel's corner and of the next one's
  double* tiles = nullptr;  // [count][tiles][tiles][side][side] of (Σ | I): above the diagonal Σ, below it L⁻¹ to be
  unsigned count = 0;       // of matrices at once
  unsigned of_side = 0;

  __host__ __device__ double* corner(unsigned panel, unsigned m) const {
    return corners + (std::size_t{panel % 2} * count + m) * tile_size;
  }
  __host__ __device__ double* tile(unsigned m, unsigned i, unsigned c) const {
    return tiles + ((std::size_t{m} * of_side + i) * of_side + c) * tile_size;
  }
};

unsigned matrices_of(const kernel_layout& layout) {
  return layout.type == covariance_type::tied ? 1 : layout.components;
}

// With the work memory, or for its size alone.
tiled_matrices place_matrices(const kernel_layout& layout, double* work) {
  tiled_matrices made;
  made.of_side = tiles_of_side(layout.columns);
  const std::size_t bytes = made.of_side * made.of_side * tile_size * sizeof(double);
  made.count =
      static_cast<unsigned>(std::min<std::size_t>(matrices_of(layout), std::max<std::size_t>(1, most_bytes / bytes)));
  made.goes = work;
  made.corners = work + 1;
  made.tiles = made.corners + 2 * made.count * tile_size;
  return made;
}

struct block_memory {
  double corner[shared_tile];
  double row[shared_tile];     // of the panel, below which the tile lies; then what is taken of it
  double column[shared_tile];  // of the panel, beside which it lies
};
static_assert(sizeof(block_memory) <= 99 * 1024, "a block of compute capability 8.6 has no more");

__device__ void load_tile(const double* from, double* to) {
  for (unsigned e = threadIdx.x; e < tile_size; e += tile_threads) {
    to[e / side * tile_stride() + e % side] = from[e];
  }
}

// Which elements of a tile a thread has: a warp has 16 rows and half of the columns, in tiles of 16 × 8 that tensor
// cores multiply (tile_lane in eliminate_wide.cuh).
constexpr unsigned product_rows = 16, product_columns = 8, products_across = 4;
static_assert(side / product_rows * (side / product_columns / products_across) == tile_threads / cuda::warp_size);

using thread_tile = double[products_across][4];

struct thread_place {
  tile_lane lane;
  unsigned first_row, first_column;

  __device__ thread_place() : lane(cuda::warp_group()) {
    const unsigned warp = threadIdx.x / cuda::warp_size;
    first_row = warp / 2 * product_rows;
    first_column = warp % 2 * products_across * product_columns;
  }
  __device__ unsigned row(unsigned e) const { return first_row + lane.row(e); }
  __device__ unsigned column(unsigned n, unsigned e) const {
    return first_column + n * product_columns + lane.column(e);
  }
};

// Adds left(row, s) · right[s][column] over so many terms s, a multiple of 16.
template <class Left>
__device__ void add_product(const Left& left, const double* right, unsigned terms, thread_tile& sum) {
  const thread_place at;
#pragma unroll 2
  for (unsigned first = 0; first < terms; first += 16) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      double a[4];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        a[i] = left(at.first_row + at.lane.left_row(i), first + at.lane.left_term(half, i));
      }
#pragma unroll
      for (unsigned n = 0; n < products_across; ++n) {
        double b[2];
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
          b[i] = right[(first + at.lane.right_term(half, i)) * tile_stride() + at.first_column + n * product_columns +
                       at.lane.group];
        }
        tensor_float64::multiply_add(sum[n], a, b);
      }
    }
  }
}

// T · X, T lower triangular.
__device__ void multiply_corner(const double* corner, const double* x, thread_tile& sum) {
  const thread_place at;
  add_product([=](unsigned row, unsigned s) { return corner[row * tile_stride() + s]; }, x, at.first_row + product_rows,
              sum);
}

// − Pᵀ R
__device__ void subtract_product(const double* p, const double* r, thread_tile& sum) {
  add_product([=](unsigned row, unsigned s) { return -p[s * tile_stride() + row]; }, r, side, sum);
}

__device__ void keep_tile(const thread_tile& values, double* to, unsigned stride) {
  const thread_place at;
#pragma unroll
  for (unsigned n = 0; n < products_across; ++n) {
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) to[at.row(e) * stride + at.column(n, e)] = values[n][e];
  }
}

// x = T · x, where both are in shared memory.
__device__ void take_corner(const double* corner, double* x) {
  thread_tile sum = {};
  multiply_corner(corner, x, sum);
  __syncthreads();
  keep_tile(sum, x, tile_stride());
  __syncthreads();
}

// L⁻¹ of the tile in `memory.corner`, which is symmetric, into `to`. The unit matrix where it is indefinite, so that
// what follows stays finite.
template <class Scalar>
__device__ void factorise_corner(const step_arguments<Scalar>& arguments, unsigned k, block_memory& memory,
                                 double* to) {
  static_assert(tile_stride() == side + 1);
  const cuda::block_group block;
  double* const matrix = memory.corner;
  double* const roots = memory.row;  // the panel's tiles are done with
  double* const panel = memory.column;
  static_assert(wide_panel_work <= shared_tile);
  for (unsigned i = block.rank; i < side; i += block.size) matrix[i * tile_stride() + side] = 0;
  block.sync();
  const bool good = eliminate_wide(block, matrix, side, panel);
  if (!good && block.rank == 0) refuse(arguments, refusal::indefinite, k, 0);
  block.sync();
  for (unsigned j = block.rank; j < side; j += block.size) {
    roots[j] = good ? 1 / sqrt(matrix[j * tile_stride() + j]) : 1;
  }
  block.sync();
  for (unsigned e = block.rank; e < tile_size; e += block.size) {
    const unsigned i = e / side, j = e % side;
    double value = 0;
    if (i == j) value = roots[i];
    if (i > j && good) value = matrix[i * tile_stride() + j] * roots[i];
    to[e] = value;
  }
}

// Tiles on and above the diagonal, row by row; the unit matrix beyond the last column.
template <class Scalar>
__global__ void __launch_bounds__(tile_threads, 2)
    load_tiles(const __grid_constant__ step_arguments<Scalar> arguments,
               const __grid_constant__ tiled_matrices matrices, unsigned first, factors_of which) {
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& memory = *reinterpret_cast<block_memory*>(bytes);
  cuda::wait_for_predecessor();
  const cuda::block_group block;
  const bool goes = which == factors_of::prepared ? arguments.replaced == nullptr || *arguments.replaced != 0
                                                  : *arguments.prepared.stopped == 0 && !decide(block, arguments).empty;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *matrices.goes = goes ? 1 : 0;
  if (!goes) return;
  unsigned i = 0, c = blockIdx.x;
  while (c >= matrices.of_side - i) c -= matrices.of_side - i++;
  c += i;
  const unsigned d = arguments.layout.columns, k = first + blockIdx.y;
  const double* const covariance = arguments.model.covariances + std::size_t{k} * d * d;
  double* const to = matrices.tile(blockIdx.y, i, c);
  for (unsigned e = threadIdx.x; e < tile_size; e += tile_threads) {
    const unsigned row = i * side + e / side, column = c * side + e % side;
    const double value =
        row < d && column < d ? covariance[std::size_t{row} * d + column] : (row == column ? 1.0 : 0.0);
    if (blockIdx.x == 0) {
      memory.corner[e / side * tile_stride() + e % side] = value;
    } else {
      to[e] = value;
    }
  }
  if (blockIdx.x != 0) return;
  __syncthreads();
  factorise_corner(arguments, k, memory, matrices.corner(0, blockIdx.y));
}

// Writes tile (panel, c) of L⁻¹, which `values` has [row][column], as U, and the zeros on the other side.
template <class Scalar>
__device__ void write_factor_tile(const step_arguments<Scalar>& arguments, unsigned k, unsigned panel, unsigned c,
                                  const double* values) {
  const unsigned d = arguments.layout.columns;
  const std::size_t start = std::size_t{k} * d * d;
  bool finite = true;
  for (unsigned e = threadIdx.x; e < tile_size; e += tile_threads) {
    const unsigned i = c * side + e / side, j = panel * side + e % side;
    if (i < d && j < d) {
      const double value = values[e % side * tile_stride() + e / side];
      finite = finite && isfinite(value);
      write_factor(arguments.prepared, start + std::size_t{i} * d + j, value);
    }
    const unsigned below = panel * side + e / side, left = c * side + e % side;
    if (c != panel && below < d && left < d) {
      write_factor(arguments.prepared, start + std::size_t{below} * d + left, 0);
    }
  }
  if (!finite) refuse(arguments, refusal::singular, k, 0);
}

// The first panel + 1 blocks finish the panel's rows of L⁻¹; then come the rows of tiles below, with as many tiles of
// L⁻¹ and those of Σ on and above the diagonal.
template <class Scalar>
__global__ void __launch_bounds__(tile_threads, 2)
    take_panel(const __grid_constant__ step_arguments<Scalar> arguments,
               const __grid_constant__ tiled_matrices matrices, unsigned first, unsigned panel) {
  extern __shared__ __align__(16) unsigned char bytes[];
  auto& memory = *reinterpret_cast<block_memory*>(bytes);
  cuda::wait_for_predecessor();
  if (*matrices.goes == 0) return;
  const unsigned m = blockIdx.y, k = first + m;
  load_tile(matrices.corner(panel, m), memory.corner);
  if (blockIdx.x <= panel) {
    const unsigned c = blockIdx.x;
    if (c == panel) {
      __syncthreads();
      return write_factor_tile(arguments, k, panel, c, memory.corner);
    }
    load_tile(matrices.tile(m, panel, c), memory.column);
    __syncthreads();
    take_corner(memory.corner, memory.column);
    return write_factor_tile(arguments, k, panel, c, memory.column);
  }
  unsigned i = panel + 1, c = blockIdx.x - (panel + 1);
  while (c >= panel + 1 + matrices.of_side - i) c -= panel + 1 + matrices.of_side - i++;
  if (c > panel) c += i - (panel + 1);
  load_tile(matrices.tile(m, panel, i), memory.row);
  if (c != panel && c != i) load_tile(matrices.tile(m, panel, c), memory.column);
  double* const to = matrices.tile(m, i, c);
  const thread_place at;
  thread_tile sum = {};
  if (c != panel) {  // of L⁻¹, the panel's own columns are empty so far
#pragma unroll
    for (unsigned n = 0; n < products_across; ++n) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) sum[n][e] = to[at.row(e) * side + at.column(n, e)];
    }
  }
  __syncthreads();
  take_corner(memory.corner, memory.row);
  if (c != panel && c != i) take_corner(memory.corner, memory.column);
  subtract_product(memory.row, c == panel ? memory.corner : (c == i ? memory.row : memory.column), sum);
  if (i != panel + 1 || c != i) return keep_tile(sum, to, side);
  __syncthreads();
  keep_tile(sum, memory.corner, tile_stride());
  __syncthreads();
  factorise_corner(arguments, k, memory, matrices.corner(panel + 1, m));
}

}  // namespace

std::size_t tiled_work(const kernel_layout& layout) {
  const tiled_matrices sizes = place_matrices(layout, nullptr);
  return 1 + (2 + std::size_t{sizes.of_side} * sizes.of_side) * sizes.count * tile_size;
}

template <class Scalar>
void factorise_in_tiles(const step_arguments<Scalar>& arguments, double* work, factors_of which, cudaStream_t stream) {
  tiled_matrices matrices = place_matrices(arguments.layout, work);
  const unsigned all = matrices_of(arguments.layout), tiles = matrices.of_side;
  for (unsigned first = 0; first < all; first += matrices.count) {
    const unsigned count = std::min(matrices.count, all - first);
    cuda::launch_in_turn(load_tiles<Scalar>, dim3(tiles * (tiles + 1) / 2, count), tile_threads, sizeof(block_memory),
                         stream, arguments, matrices, first, which);
    for (unsigned panel = 0; panel < tiles; ++panel) {
      const unsigned below = tiles - panel - 1;
      const unsigned blocks = (panel + 1) * (below + 1) + below * (below + 1) / 2;
      cuda::launch_in_turn(take_panel<Scalar>, dim3(blocks, count), tile_threads, sizeof(block_memory), stream,
                           arguments, matrices, first, panel);
    }
  }
}

template void factorise_in_tiles(const step_arguments<float>&, double*, factors_of, cudaStream_t);
template void factorise_in_tiles(const step_arguments<double>&, double*, factors_of, cudaStream_t);

}  // namespace shoal::gmm
