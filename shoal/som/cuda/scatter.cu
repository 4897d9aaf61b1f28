// Σ w(x − m)(x − m)ᵀ in float64: a block takes a tile of the matrix and a lane of the rows.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/covariance.hpp>

namespace shoal::som {
namespace {

constexpr int side = 16;           // of a block's square of threads
constexpr int each = 4;            // a thread has each × each elements
constexpr int tile = side * each;  // columns of a tile
constexpr int depth = 16;          // rows in shared memory at a time
constexpr std::size_t most_lanes = 64;
constexpr std::size_t lanes_bytes = std::size_t{256} << 20;

template <class Scalar>
__global__ void __launch_bounds__(side* side)
    scatter_kernel(cuda::device_piece<Scalar> piece, int columns, const double* mean, double* lanes, int lane_count) {
  cuda::wait_for_predecessor();
  // The tiles on and below the diagonal, one after another.
  int below = 0, right = static_cast<int>(blockIdx.x);
  while (right > below) right -= ++below;
  __shared__ double left[depth][tile], above[depth][tile];
  const int lane = static_cast<int>(blockIdx.y), x = threadIdx.x % side, y = threadIdx.x / side;
  const int first_row = below * tile, first_column = right * tile;
  double* const to = lanes + static_cast<std::size_t>(lane) * columns * columns;
  const auto place = [&](int i, int j) -> double* {
    const int a = first_row + y + i * side, b = first_column + x + j * side;
    return a < columns && b < columns ? to + static_cast<std::size_t>(a) * columns + b : nullptr;
  };
  double sums[each][each];
#pragma unroll
  for (int i = 0; i < each; ++i) {
#pragma unroll
    for (int j = 0; j < each; ++j) sums[i][j] = place(i, j) != nullptr ? *place(i, j) : 0.0;
  }
  const std::size_t first_unit = piece.share_first / cuda::piece_unit;
  const std::size_t units = (piece.count + cuda::piece_unit - 1) / cuda::piece_unit;
  for (std::size_t unit = 0; unit < units; ++unit) {
    if (static_cast<int>((first_unit + unit) % lane_count) != lane) continue;
    const std::size_t begin = unit * cuda::piece_unit, end = min(begin + cuda::piece_unit, piece.count);
    for (std::size_t start = begin; start < end; start += depth) {
      __syncthreads();
      for (int i = threadIdx.x; i < depth * tile; i += side * side) {
        const std::size_t row = start + i / tile;
        const int a = first_row + i % tile, b = first_column + i % tile;
        const bool there = row < end;
        const Scalar* const from = piece.rows + row * columns;
        const double weight = there && piece.weights != nullptr ? static_cast<double>(piece.weights[row]) : 1.0;
        left[i / tile][i % tile] = there && a < columns ? weight * (static_cast<double>(from[a]) - mean[a]) : 0.0;
        above[i / tile][i % tile] = there && b < columns ? static_cast<double>(from[b]) - mean[b] : 0.0;
      }
      __syncthreads();
      for (int r = 0; r < depth; ++r) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
#pragma unroll
          for (int j = 0; j < each; ++j) {
            sums[i][j] = fma(left[r][y + i * side], above[r][x + j * side], sums[i][j]);
          }
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
#pragma unroll
    for (int j = 0; j < each; ++j) {
      if (place(i, j) != nullptr) *place(i, j) = sums[i][j];
    }
  }
}

__global__ void merge_kernel(const double* lanes, int columns, int lane_count, double* scatter) {
  cuda::wait_for_predecessor();
  const std::size_t size = static_cast<std::size_t>(columns) * columns;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= size) return;
  double sum = 0;
  for (int lane = 0; lane < lane_count; ++lane) sum += lanes[lane * size + i];
  scatter[i] = sum;
}

}  // namespace

std::size_t scatter_lanes(std::size_t columns) {
  return std::clamp<std::size_t>(lanes_bytes / (columns * columns * sizeof(double)), 1, most_lanes);
}

template <class Scalar>
void add_scatter(const cuda::device_piece<Scalar>& piece, std::size_t columns, const double* mean, double* lanes,
                 cudaStream_t stream) {
  const std::size_t tiles = (columns + tile - 1) / tile, count = scatter_lanes(columns);
  const dim3 blocks(static_cast<unsigned>(tiles * (tiles + 1) / 2), static_cast<unsigned>(count));
  cuda::launch_in_turn(scatter_kernel<Scalar>, blocks, side * side, 0, stream, piece, static_cast<int>(columns), mean,
                       lanes, static_cast<int>(count));
}
template void add_scatter(const cuda::device_piece<float>&, std::size_t, const double*, double*, cudaStream_t);
template void add_scatter(const cuda::device_piece<double>&, std::size_t, const double*, double*, cudaStream_t);

void merge_scatter(const double* lanes, std::size_t columns, double* scatter, cudaStream_t stream) {
  constexpr std::size_t threads = 256;
  cuda::launch_in_turn(merge_kernel, static_cast<unsigned>((columns * columns + threads - 1) / threads), threads, 0,
                       stream, lanes, static_cast<int>(columns), static_cast<int>(scatter_lanes(columns)), scatter);
}

}  // namespace shoal::som
