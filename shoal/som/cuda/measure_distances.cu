// Distances of rows to all units in float64, added up as the host adds them: column after column, nothing contracted.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/som/cuda/distance.cuh>
#include <shoal/som/cuda/distances.hpp>

namespace shoal::som {
namespace {

// A block measures 64 rows against 64 units, a few columns at a time from shared memory; each of its threads a square
// of them, so that a value read is used several times.
constexpr unsigned side = 16;
constexpr unsigned each = 4;
constexpr unsigned tile = side * each;
constexpr unsigned depth = 16;
constexpr unsigned most_blocks_down = 65535;

template <class Scalar>
__global__ void lengths_kernel(measured_rows<Scalar> all) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= all.count) return;
  const Scalar* const row = all.rows + i * all.columns;
  double largest = 0, squares = 0;
  for (std::size_t j = 0; j < all.columns; ++j) largest = fmax(largest, fabs(static_cast<double>(row[j])));
  for (std::size_t j = 0; j < all.columns && largest > 0; ++j) {
    const double scaled = __ddiv_rn(static_cast<double>(row[j]), largest);
    squares = __dadd_rn(squares, __dmul_rn(scaled, scaled));
  }
  all.lengths[i] = __dmul_rn(largest, __dsqrt_rn(squares));
}

template <metric Metric>
__device__ double finished(double rank, double length) {
  if constexpr (Metric == metric::euclidean) return __dsqrt_rn(rank);
  if constexpr (Metric == metric::cosine) return length > 0 ? fmax(0.0, __dadd_rn(1.0, __ddiv_rn(rank, length))) : 1.0;
  return rank;
}

template <metric Metric, class Scalar>
__global__ void __launch_bounds__(side* side) distances_kernel(measured_rows<Scalar> all, Scalar* distances) {
  // One element more than a tile is wide, so that a column's elements are written to separate banks.
  __shared__ double row_values[depth][tile + 1];
  __shared__ double unit_values[depth][tile + 1];
  const std::size_t first_row = std::size_t{blockIdx.x} * tile, columns = all.columns;
  const unsigned across = threadIdx.x % side, down = threadIdx.x / side;
  for (std::size_t first_unit = std::size_t{blockIdx.y} * tile; first_unit < all.unit_count;
       first_unit += std::size_t{gridDim.y} * tile) {
    double sums[each][each] = {};
    for (std::size_t first_column = 0; first_column < columns; first_column += depth) {
      const std::size_t column = first_column + across;
      for (unsigned i = down; i < tile; i += side) {
        const std::size_t row = first_row + i, unit = first_unit + i;
        const bool there = column < columns;
        row_values[across][i] = there && row < all.count ? static_cast<double>(all.rows[row * columns + column]) : 0.0;
        unit_values[across][i] = there && unit < all.unit_count ? all.units[unit * columns + column] : 0.0;
      }
      __syncthreads();
      const auto here = static_cast<unsigned>(min(columns - first_column, std::size_t{depth}));
#pragma unroll 4
      for (unsigned j = 0; j < here; ++j) {
        double values[each];
#pragma unroll
        for (unsigned r = 0; r < each; ++r) values[r] = row_values[j][down + r * side];
#pragma unroll
        for (unsigned c = 0; c < each; ++c) {
          const double unit = unit_values[j][across + c * side];
#pragma unroll
          for (unsigned r = 0; r < each; ++r) sums[r][c] = add_exactly<Metric>(sums[r][c], values[r], unit);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (unsigned r = 0; r < each; ++r) {
      const std::size_t row = first_row + down + r * side;
      if (row >= all.count) continue;
      const double length = Metric == metric::cosine ? all.lengths[row] : 0.0;
#pragma unroll
      for (unsigned c = 0; c < each; ++c) {
        const std::size_t unit = first_unit + across + c * side;
        if (unit >= all.unit_count) continue;
        distances[row * all.unit_count + unit] = static_cast<Scalar>(finished<Metric>(sums[r][c], length));
      }
    }
  }
}

template <metric Metric, class Scalar>
void launch(const measured_rows<Scalar>& all, Scalar* distances, cudaStream_t stream) {
  if constexpr (Metric == metric::cosine) {
    constexpr unsigned threads = 128;
    lengths_kernel<<<static_cast<unsigned>((all.count + threads - 1) / threads), threads, 0, stream>>>(all);
    cuda::check_launch("measure_lengths");
  }
  const std::size_t unit_tiles = (all.unit_count + tile - 1) / tile;
  const dim3 blocks(static_cast<unsigned>((all.count + tile - 1) / tile),
                    static_cast<unsigned>(std::min<std::size_t>(unit_tiles, most_blocks_down)));
  distances_kernel<Metric><<<blocks, side * side, 0, stream>>>(all, distances);
  cuda::check_launch("measure_distances");
}

}  // namespace

template <class Scalar>
void measure_distances(const measured_rows<Scalar>& all, metric metric, Scalar* distances, cudaStream_t stream) {
  if (all.count == 0) return;
  switch (metric) {
    case metric::euclidean:
      return launch<metric::euclidean>(all, distances, stream);
    case metric::taxicab:
      return launch<metric::taxicab>(all, distances, stream);
    case metric::cosine:
      return launch<metric::cosine>(all, distances, stream);
    case metric::chebyshev:
      return launch<metric::chebyshev>(all, distances, stream);
  }
}

template void measure_distances(const measured_rows<float>&, metric, float*, cudaStream_t);
template void measure_distances(const measured_rows<double>&, metric, double*, cudaStream_t);

}  // namespace shoal::som
