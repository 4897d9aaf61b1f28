// Doubtful rows, by the definition: Σ (x − c)² in float64 from the first column to the last, the lowest index on ties.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {

constexpr int threads = 256;
constexpr int blocks = 528;
constexpr int staged_columns = 512;
constexpr int together = 4;  // open rows that a block compares with a centroid at a time

// Nothing is contracted: the sum has the bits of the host's.
__device__ double add_square(double sum, double x, double c) {
  const double difference = __dsub_rn(x, c);
  return __dadd_rn(sum, __dmul_rn(difference, difference));
}

struct candidate {
  double distance;
  int cluster;
  __device__ void take(double other_distance, int other_cluster) {
    if (other_distance < distance || (other_distance == distance && other_cluster < cluster)) {
      distance = other_distance;
      cluster = other_cluster;
    }
  }
};

// A warp for each pair. Sums in another order than the definition's decide unless they are so close that rounding,
// (columns + 2) units of each at most, could have turned them; then two threads add as the definition says.
template <class Scalar>
__device__ void decide_pair(const Scalar* row, const device_centroids<Scalar>& centroids, int second,
                            std::int32_t& label) {
  const int lane = threadIdx.x % 32, first = label, columns = centroids.columns;
  const double* a = centroids.values + std::size_t(first) * columns;
  const double* b = centroids.values + std::size_t(second) * columns;
  double to_a = 0, to_b = 0;
  for (int j = lane; j < columns; j += 32) {
    const double x = static_cast<double>(row[j]);
    to_a = add_square(to_a, x, a[j]);
    to_b = add_square(to_b, x, b[j]);
  }
  for (int step = 16; step > 0; step /= 2) {
    to_a += __shfl_xor_sync(~0u, to_a, step);
    to_b += __shfl_xor_sync(~0u, to_b, step);
  }
  if (!(fabs(to_a - to_b) > 2.0 * (columns + 4) * 0x1p-53 * (to_a + to_b) + 0x1p-1000)) {
    const double* mine = lane == 0 ? a : b;
    double sum = 0;
    if (lane < 2) {
      for (int j = 0; j < columns; ++j) sum = add_square(sum, static_cast<double>(row[j]), mine[j]);
    }
    to_a = __shfl_sync(~0u, sum, 0);
    to_b = __shfl_sync(~0u, sum, 1);
  }
  if (lane == 0 && (to_b < to_a || (to_b == to_a && second < first))) label = second;
}

template <class Scalar>
__global__ void __launch_bounds__(threads)
    decide_kernel(cuda::device_piece<Scalar> piece, device_centroids<Scalar> centroids, std::int32_t* labels,
                  doubtful_rows doubtful, const int* stopped) {
  if (*stopped) return;
  const int columns = centroids.columns;
  const unsigned pairs = doubtful.counts[0], open = doubtful.counts[1];
  __syncthreads();  // all of the block have read
  for (unsigned i = (blockIdx.x * threads + threadIdx.x) / 32; i < pairs; i += gridDim.x * threads / 32) {
    const int2 pair = doubtful.list[i];
    decide_pair(piece.rows + std::size_t(pair.x) * columns, centroids, pair.y, labels[pair.x]);
  }
  __shared__ candidate of_warp[together][threads / 32];
  __shared__ double staged[together][staged_columns];
  for (unsigned first = blockIdx.x * together; first < open; first += gridDim.x * together) {
    __shared__ const Scalar* rows[together];
    candidate best[together];
    for (int r = 0; r < together; ++r) {
      rows[r] = piece.rows + std::size_t(doubtful.list[doubtful.capacity - 1 - min(first + r, open - 1)].x) * columns;
      best[r] = {static_cast<double>(INFINITY), 0x7fffffff};
    }
    // Rows of every thread, converted once.
    const bool fits = columns <= staged_columns;
    for (int i = threadIdx.x; fits && i < together * columns; i += threads) {
      staged[i / columns][i % columns] = static_cast<double>(rows[i / columns][i % columns]);
    }
    __syncthreads();
    const auto compare_all = [&](const auto& column) {
      for (int k = threadIdx.x; k < centroids.clusters; k += threads) {
        double distances[together] = {};
#pragma unroll 8
        for (int j = 0; j < columns; ++j) {
          const double c = centroids.turned[std::size_t(j) * centroids.padded + k];
#pragma unroll
          for (int r = 0; r < together; ++r) distances[r] = add_square(distances[r], column(r, j), c);
        }
#pragma unroll
        for (int r = 0; r < together; ++r) best[r].take(distances[r], k);
      }
    };
    if (fits) {
      compare_all([&](int r, int j) { return staged[r][j]; });
    } else {
      compare_all([&](int r, int j) { return static_cast<double>(rows[r][j]); });
    }
    for (int r = 0; r < together; ++r) {
      for (int step = 16; step > 0; step /= 2) {
        const double distance = __shfl_xor_sync(~0u, best[r].distance, step);
        const int cluster = __shfl_xor_sync(~0u, best[r].cluster, step);
        best[r].take(distance, cluster);
      }
      if (threadIdx.x % 32 == 0) of_warp[r][threadIdx.x / 32] = best[r];
    }
    __syncthreads();
    if (threadIdx.x < together && first + threadIdx.x < open) {
      candidate all = of_warp[threadIdx.x][0];
      for (int w = 1; w < threads / 32; ++w)
        all.take(of_warp[threadIdx.x][w].distance, of_warp[threadIdx.x][w].cluster);
      labels[doubtful.list[doubtful.capacity - 1 - first - threadIdx.x].x] = all.cluster;
    }
    __syncthreads();
  }
  // The last block leaves empty lists to the next search; every block has read the counts by then.
  if (threadIdx.x != 0 || atomicAdd(doubtful.counts + 2, 1u) + 1 != gridDim.x) return;
  for (int i = 0; i < 3; ++i) doubtful.counts[i] = 0;
}

}  // namespace

template <class Scalar>
void decide_doubtful(const cuda::device_piece<Scalar>& piece, const device_centroids<Scalar>& centroids,
                     std::int32_t* labels, const doubtful_rows& doubtful, const int* stopped, cudaStream_t stream) {
  decide_kernel<<<blocks, threads, 0, stream>>>(piece, centroids, labels, doubtful, stopped);
  cuda::check_launch("decide_doubtful");
}
template void decide_doubtful(const cuda::device_piece<float>&, const device_centroids<float>&, std::int32_t*,
                              const doubtful_rows&, const int*, cudaStream_t);
template void decide_doubtful(const cuda::device_piece<double>&, const device_centroids<double>&, std::int32_t*,
                              const doubtful_rows&, const int*, cudaStream_t);

}  // namespace shoal::kmeans
