#include <shoal/estimation/cuda/pair_distances.hpp>

#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>

namespace shoal {
namespace {

// A block has the pairs of two runs of rows, a thread those of `own` rows of one and of as many of the other, which lie
// `side` apart so that neighbouring threads write neighbouring distances.
constexpr unsigned own = 4, side = 16, tile = own * side, threads = side * side;
constexpr unsigned slab = 8;  // columns at a time

template <class Scalar, class Work>
__global__ void __launch_bounds__(threads)
    measure_pairs_kernel(const Scalar* rows, std::size_t count, std::size_t columns, Work* distances) {
  constexpr unsigned pitch = tile + 2;
  __shared__ alignas(16) Work upper[slab][pitch], lower[slab][pitch];
  const std::size_t first_upper = std::size_t{blockIdx.y} * tile, first_lower = std::size_t{blockIdx.x} * tile;
  const unsigned of_upper = threadIdx.x / side * own, of_lower = threadIdx.x % side;
  Work sums[own][own] = {};
  for (std::size_t from = 0; from < columns; from += slab) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < tile * slab; i += threads) {
      const unsigned row = i / slab, j = i % slab;
      const bool inside = from + j < columns;
      const std::size_t above = min(first_upper + row, count - 1), below = min(first_lower + row, count - 1);
      upper[j][row] = inside ? static_cast<Work>(rows[above * columns + from + j]) : Work{0};
      lower[j][row] = inside ? static_cast<Work>(rows[below * columns + from + j]) : Work{0};
    }
    __syncthreads();
#pragma unroll 4
    for (unsigned j = 0; j < slab; ++j) {
      Work a[own], b[own];
#pragma unroll
      for (unsigned i = 0; i < own; ++i) {
        a[i] = upper[j][of_upper + i];
        b[i] = lower[j][of_lower + i * side];
      }
#pragma unroll
      for (unsigned i = 0; i < own; ++i) {
#pragma unroll
        for (unsigned l = 0; l < own; ++l) {
          const Work difference = a[i] - b[l];
          sums[i][l] = fma(difference, difference, sums[i][l]);
        }
      }
    }
  }
#pragma unroll
  for (unsigned i = 0; i < own; ++i) {
#pragma unroll
    for (unsigned l = 0; l < own; ++l) {
      const std::size_t above = first_upper + of_upper + i, below = first_lower + of_lower + l * side;
      if (above < count && below < count) distances[above * count + below] = sums[i][l];
    }
  }
}

}  // namespace

template <class Scalar, class Work>
void measure_pairs(const Scalar* rows, std::size_t count, std::size_t columns, Work* distances, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((count + tile - 1) / tile);
  measure_pairs_kernel<<<dim3(tiles, tiles), threads, 0, stream>>>(rows, count, columns, distances);
  cuda::check_launch("measure_pairs");
}
template void measure_pairs(const float*, std::size_t, std::size_t, float*, cudaStream_t);
template void measure_pairs(const float*, std::size_t, std::size_t, double*, cudaStream_t);
template void measure_pairs(const double*, std::size_t, std::size_t, double*, cudaStream_t);

}  // namespace shoal
