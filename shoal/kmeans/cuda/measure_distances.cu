#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/kmeans/cuda/distances.hpp>

namespace shoal::kmeans {
namespace {

// A block measures tile_rows rows against 16 · ClustersEach clusters, a few columns at a time from shared memory. Each
// of its 16 x 16 threads keeps RowsEach x ClustersEach sums, so that a value read is used several times.
constexpr unsigned side = 16;
constexpr unsigned rows_each = 4;
constexpr unsigned tile_rows = side * rows_each;
constexpr unsigned tile_columns = 16;

// As the host adds a distance up: column after column, and nothing contracted.
__device__ double with_square(double sum, double a, double b) {
  const double difference = __dsub_rn(a, b);
  return __dadd_rn(sum, __dmul_rn(difference, difference));
}

template <unsigned ClustersEach, class Scalar>
__global__ void __launch_bounds__(side* side)
    distances_kernel(const Scalar* rows, std::size_t count, std::size_t columns, const double* centroids,
                     std::size_t clusters, Scalar* distances) {
  constexpr unsigned tile_clusters = side * ClustersEach;
  // One element more than a tile is wide, so that a column's elements are written to separate banks.
  __shared__ double row_values[tile_columns][tile_rows + 1];
  __shared__ double centroid_values[tile_columns][tile_clusters + 1];
  const std::size_t first_row = std::size_t{blockIdx.x} * tile_rows;
  const std::size_t first_cluster = std::size_t{blockIdx.y} * tile_clusters;
  const unsigned across = threadIdx.x % side, down = threadIdx.x / side;
  double sums[rows_each][ClustersEach] = {};
  for (std::size_t first_column = 0; first_column < columns; first_column += tile_columns) {
    const std::size_t column = first_column + across;
    for (unsigned i = down; i < tile_rows; i += side) {
      const std::size_t row = first_row + i;
      row_values[across][i] = row < count && column < columns ? static_cast<double>(rows[row * columns + column]) : 0.0;
    }
    for (unsigned k = down; k < tile_clusters; k += side) {
      const std::size_t cluster = first_cluster + k;
      centroid_values[across][k] = cluster < clusters && column < columns ? centroids[cluster * columns + column] : 0.0;
    }
    __syncthreads();
    const auto here = static_cast<unsigned>(min(columns - first_column, std::size_t{tile_columns}));
#pragma unroll 4
    for (unsigned j = 0; j < here; ++j) {
      double values[rows_each];
      for (unsigned r = 0; r < rows_each; ++r) values[r] = row_values[j][down + r * side];
      for (unsigned c = 0; c < ClustersEach; ++c) {
        const double centroid = centroid_values[j][across + c * side];
        for (unsigned r = 0; r < rows_each; ++r) sums[r][c] = with_square(sums[r][c], values[r], centroid);
      }
    }
    __syncthreads();
  }
  for (unsigned r = 0; r < rows_each; ++r) {
    const std::size_t row = first_row + down + r * side;
    for (unsigned c = 0; c < ClustersEach; ++c) {
      const std::size_t cluster = first_cluster + across + c * side;
      if (row < count && cluster < clusters) {
        distances[row * clusters + cluster] = static_cast<Scalar>(__dsqrt_rn(sums[r][c]));
      }
    }
  }
}

template <unsigned ClustersEach, class Scalar>
void launch(const Scalar* rows, std::size_t count, std::size_t columns, const double* centroids, std::size_t clusters,
            Scalar* distances, cudaStream_t stream) {
  constexpr std::size_t tile_clusters = side * ClustersEach;
  const dim3 blocks(static_cast<unsigned>((count + tile_rows - 1) / tile_rows),
                    static_cast<unsigned>((clusters + tile_clusters - 1) / tile_clusters));
  distances_kernel<ClustersEach>
      <<<blocks, side * side, 0, stream>>>(rows, count, columns, centroids, clusters, distances);
  cuda::check_launch("measure_distances");
}

}  // namespace

template <class Scalar>
void measure_distances(const Scalar* rows, std::size_t count, std::size_t columns, const double* centroids,
                       std::size_t clusters, Scalar* distances, cudaStream_t stream) {
  if (count == 0) return;
  const auto call = clusters <= side ? launch<1, Scalar> : launch<4, Scalar>;
  call(rows, count, columns, centroids, clusters, distances, stream);
}

template void measure_distances(const float*, std::size_t, std::size_t, const double*, std::size_t, float*,
                                cudaStream_t);
template void measure_distances(const double*, std::size_t, std::size_t, const double*, std::size_t, double*,
                                cudaStream_t);

}  // namespace shoal::kmeans
