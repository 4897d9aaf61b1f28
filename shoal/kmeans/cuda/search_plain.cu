// The nearest centroid on the arithmetic units: a tile of rows against tiles of centroids, any shape.
#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/least_three.cuh>
#include <shoal/nearest/cuda/doubt.cuh>

namespace shoal::kmeans {
namespace {

constexpr int tile_rows = 64;
constexpr int depth = 16;  // columns in shared memory at a time
constexpr int each = 4;    // a thread scores each × each rows and centroids
constexpr int threads = (tile_rows / each) * (cluster_tile / each);

template <class Scalar>
__global__ void __launch_bounds__(threads)
    search_kernel(cuda::device_piece<Scalar> piece, device_centroids<Scalar> centroids, std::int32_t* labels,
                  doubtful_rows doubtful, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped) return;
  __shared__ Scalar rows[depth][tile_rows + 1];
  __shared__ Scalar tile[depth][cluster_tile];
  const int columns = centroids.columns;
  const int across = threadIdx.x % (cluster_tile / each), down = threadIdx.x / (cluster_tile / each);
  const std::size_t first_row = std::size_t{blockIdx.x} * tile_rows;
  least_three<Scalar> least[each];
  Scalar norms[each] = {};

  for (int first = 0; first < centroids.padded; first += cluster_tile) {
    Scalar scores[each][each];
#pragma unroll
    for (int b = 0; b < each; ++b) {
      const Scalar half_norm = centroids.half_norms[first + across + b * (cluster_tile / each)];
#pragma unroll
      for (int a = 0; a < each; ++a) scores[a][b] = half_norm;
    }
    for (int start = 0; start < columns; start += depth) {
      __syncthreads();
      if (first == 0 || columns > depth) {
        for (int i = threadIdx.x; i < tile_rows * depth; i += threads) {
          const int j = start + i % depth;
          const std::size_t row = first_row + i / depth;
          rows[i % depth][i / depth] =
              j < columns && row < piece.count ? piece.rows[row * columns + j] - centroids.origin[j] : Scalar{0};
        }
      }
      for (int i = threadIdx.x; i < cluster_tile * depth; i += threads) {
        const int j = start + i / cluster_tile;
        tile[i / cluster_tile][i % cluster_tile] =
            j < columns ? centroids.negated[std::size_t(j) * centroids.padded + first + i % cluster_tile] : Scalar{0};
      }
      __syncthreads();
      const int count = min(depth, columns - start);
      for (int j = 0; j < count; ++j) {
        Scalar x[each], c[each];
#pragma unroll
        for (int a = 0; a < each; ++a) x[a] = rows[j][down * each + a];
#pragma unroll
        for (int b = 0; b < each; ++b) c[b] = tile[j][across + b * (cluster_tile / each)];
        if (first == 0) {
#pragma unroll
          for (int a = 0; a < each; ++a) norms[a] = fma(x[a], x[a], norms[a]);
        }
#pragma unroll
        for (int a = 0; a < each; ++a) {
#pragma unroll
          for (int b = 0; b < each; ++b) scores[a][b] = fma(x[a], c[b], scores[a][b]);
        }
      }
    }
#pragma unroll
    for (int a = 0; a < each; ++a) {
#pragma unroll
      for (int b = 0; b < each; ++b) least[a].consider(scores[a][b], first + across + b * (cluster_tile / each));
    }
  }

  // The bound of estimation/nearest.hpp: (columns + 8) roundings, or twice as many for float64, whose definition rounds
  // as well. Sixteen times and a sixteenth: norms so large that a score could overflow make the gap infinite.
  constexpr double unit = static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  const double roundings = sizeof(Scalar) == 4 ? columns + 8.0 : 2.0 * columns + 12.0;
  const auto factor = static_cast<Scalar>(1.05 * roundings * unit);
  const auto largest =
      static_cast<Scalar>(__longlong_as_double(static_cast<long long>(centroids.bounds->largest_norm)) * 1.0001);
#pragma unroll
  for (int a = 0; a < each; ++a) {
    for (int step = 1; step < cluster_tile / each; step *= 2) least[a].exchange(step);
    const std::size_t row = first_row + down * each + a;
    if (across != 0 || row >= piece.count) continue;
    const Scalar error = (norms[a] + largest) * 16 * (factor / 16) +
                         static_cast<Scalar>(columns + 8) * std::numeric_limits<Scalar>::min();
    settle_row(least[a], factor < Scalar(0.01) ? 2 * error : std::numeric_limits<Scalar>::infinity(),
               static_cast<int>(row), labels, doubtful);
  }
}

}  // namespace

template <class Scalar>
void search_plain(const cuda::device_piece<Scalar>& piece, const device_centroids<Scalar>& centroids,
                  std::int32_t* labels, const doubtful_rows& doubtful, const int* stopped, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((piece.count + tile_rows - 1) / tile_rows);
  cuda::launch_in_turn(search_kernel<Scalar>, blocks, threads, 0, stream, piece, centroids, labels, doubtful, stopped);
}
template void search_plain(const cuda::device_piece<float>&, const device_centroids<float>&, std::int32_t*,
                           const doubtful_rows&, const int*, cudaStream_t);
template void search_plain(const cuda::device_piece<double>&, const device_centroids<double>&, std::int32_t*,
                           const doubtful_rows&, const int*, cudaStream_t);

}  // namespace shoal::kmeans
