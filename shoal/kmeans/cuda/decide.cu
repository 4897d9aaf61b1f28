// Doubtful rows, by the definition: Σ (x − c)² in float64 from the first column to the last, the lowest index on ties.
#include <cuda_runtime.h>

#include <limits>
#include <type_traits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/kmeans/cuda/exact_distance.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/nearest/cuda/least_two.cuh>

namespace shoal::kmeans {
namespace {

constexpr int threads = 256;
constexpr int blocks = 264;                // two for each multiprocessor of an H200
constexpr int pair_threads = 8;            // of a pair
constexpr int wide_pair_columns = 512;     // from so many on a warp has one pair
constexpr int most_staged_columns = 6144;  // that shared memory holds of open rows
constexpr int together = 8;                // open rows that a block compares with a centroid at a time
constexpr int most_warp_clusters = 64;     // with which a warp compares an open row by itself
constexpr int least_warp_columns = 128;    // and of how many columns at least

__host__ __device__ constexpr bool decides_by_warps(int clusters, int columns) {
  return clusters <= most_warp_clusters && columns >= least_warp_columns;
}

// Some neighbouring threads for each pair. Sums in another order than the definition's decide unless they are so close
// that rounding, (columns + 2) units of each at most, could have turned them; then two threads add as the definition
// says. Every thread of the warp comes here.
template <int Threads, class Scalar, class Of>
__device__ void decide_pair(const Scalar* row, const device_centroids<Of>& centroids, int second, std::int32_t* label) {
  const int lane = threadIdx.x % Threads, first = *label, columns = centroids.columns;
  const double* a = centroids.values + std::size_t(first) * columns;
  const double* b = centroids.values + std::size_t(second) * columns;
  double to_a = 0, to_b = 0;
#pragma unroll 4
  for (int j = lane; j < columns; j += Threads) {
    const double x = static_cast<double>(row[j]);
    to_a = add_square(to_a, x, a[j]);
    to_b = add_square(to_b, x, b[j]);
  }
  for (int step = Threads / 2; step > 0; step /= 2) {
    to_a += __shfl_xor_sync(~0u, to_a, step);
    to_b += __shfl_xor_sync(~0u, to_b, step);
  }
  const bool close = !(fabs(to_a - to_b) > 2.0 * (columns + 4) * 0x1p-53 * (to_a + to_b) + 0x1p-1000);
  if (__any_sync(~0u, close)) {
    double sum = 0;
    if (close && lane < 2) sum = exact_distance(row, lane == 0 ? a : b, columns);
    const double exact_a = __shfl_sync(~0u, sum, 0, Threads), exact_b = __shfl_sync(~0u, sum, 1, Threads);
    if (close) to_a = exact_a, to_b = exact_b;
  }
  if (lane == 0 && (to_b < to_a || (to_b == to_a && second < first))) *label = second;
}

// What a block knows of the open rows that it decides.
template <class Scalar>
struct open_rows {
  const Scalar* rows[together];
  float least[together];  // of the distances in float32
  float norms[together];
  candidate of_warp[together][threads / 32];
};

// A float32 number that orders like its bits, for atomicMin: distances are not negative.
__device__ void take_least(float* least, float value) {
  atomicMin(reinterpret_cast<int*>(least), __float_as_int(value));
}

// Distances in float32 of some rows to all centroids leave few candidates, which the definition decides.
template <class Scalar>
__device__ void compare_in_float32(open_rows<Scalar>& open, const float (*staged)[together],
                                   const device_centroids<float>& centroids, candidate (&best)[together]) {
  const int columns = centroids.columns;
  least_two<float> least[together];
  for (int k = threadIdx.x; k < centroids.clusters; k += threads) {
    float distances[together] = {};
#pragma unroll 8
    for (int j = 0; j < columns; ++j) {
      const float c = centroids.negated[std::size_t(j) * centroids.padded + k];
#pragma unroll
      for (int r = 0; r < together; ++r) {
        const float difference = staged[j][r] + c;
        distances[r] = fmaf(difference, difference, distances[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < together; ++r) least[r].take(distances[r], k);
  }
#pragma unroll
  for (int r = 0; r < together; ++r) take_least(&open.least[r], least[r].first);
  __syncthreads();
  const float largest =
      static_cast<float>(__longlong_as_double(static_cast<long long>(centroids.bounds->largest_norm)) * 1.0001);
  for (int r = 0; r < together; ++r) {
    // The bound of search_few_columns.cu, for distances up to four times the least one: with an error of at most half
    // of that distance it holds for every candidate.
    constexpr float unit = 0x1p-24f * 1.05f;
    const float distance = 4 * open.least[r], moved = unit * (sqrtf(open.norms[r]) + sqrtf(largest));
    const float error = static_cast<float>(columns + 4) * unit * distance + 2.001f * sqrtf(distance) * moved +
                        moved * moved + static_cast<float>(columns + 8) * 0x1p-126f;
    const float bound = 2 * error < open.least[r] ? open.least[r] + 2 * error : static_cast<float>(INFINITY);
    if (!(least[r].first > bound)) {
      const bool several = !(least[r].second > bound);
      for (int k = several ? static_cast<int>(threadIdx.x) : least[r].nearest; k < centroids.clusters; k += threads) {
        best[r].take(exact_distance(open.rows[r], centroids.values + std::size_t(k) * columns, columns), k);
        if (!several) break;
      }
    }
  }
}

// The definition for some rows and all centroids.
template <class Scalar, class Of>
__device__ void compare_by_definition(open_rows<Scalar>& open, const device_centroids<Of>& centroids,
                                      candidate (&best)[together]) {
  for (int k = threadIdx.x; k < centroids.clusters; k += threads) {
    double distances[together] = {};
#pragma unroll 4
    for (int j = 0; j < centroids.columns; ++j) {
      const double c = centroids.turned[std::size_t(j) * centroids.padded + k];
#pragma unroll
      for (int r = 0; r < together; ++r) {
        distances[r] = add_square(distances[r], static_cast<double>(open.rows[r][j]), c);
      }
    }
#pragma unroll
    for (int r = 0; r < together; ++r) best[r].take(distances[r], k);
  }
}

// One open row and all of few centroids by a warp, whose threads share the columns: a thread for each centroid would
// leave most of a block idle for as long as a row has columns. Sums in another order leave few candidates, as in
// decide_pair(), which the definition decides. With this, and columns of few rows cut over blocks that sum them, a step
// of 10⁴ float32 rows × 1536 columns and K = 10 takes 0.17 ms on an H200 instead of 0.83.
template <class Scalar, class Of>
__device__ void decide_by_warp(const Scalar* row, const device_centroids<Of>& centroids, std::int32_t* label) {
  constexpr int at_once = 4;  // centroids
  const int lane = threadIdx.x % 32, columns = centroids.columns;
  double distances[most_warp_clusters / 32];  // of centroids lane, lane + 32, ...
  double least = static_cast<double>(INFINITY);
#pragma unroll
  for (int part = 0; part < most_warp_clusters / 32; ++part) {
    distances[part] = static_cast<double>(INFINITY);
    const int end = min(32, centroids.clusters - 32 * part);
    for (int first = 0; first < end; first += at_once) {
      const double* from[at_once];
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        from[k] = centroids.values + std::size_t(32 * part + min(first + k, end - 1)) * columns;
      }
      double sums[at_once] = {};
#pragma unroll 4
      for (int j = lane; j < columns; j += 32) {
        const double x = static_cast<double>(row[j]);
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
          const double difference = x - from[k][j];
          sums[k] = fma(difference, difference, sums[k]);
        }
      }
#pragma unroll
      for (int k = 0; k < at_once; ++k) {
        const double distance = cuda::warp_sum(sums[k]);
        if (first + k == lane) distances[part] = lane < end ? distance : static_cast<double>(INFINITY);
        least = fmin(least, distance);
      }
    }
  }
  // Sums off by (columns + 2) units of each at most: beyond that no other is the nearest.
  const double limit = least * (1 + 8.0 * (columns + 4) * 0x1p-53) + 0x1p-1000;
  bool near[most_warp_clusters / 32];
  int count = 0;
#pragma unroll
  for (int part = 0; part < most_warp_clusters / 32; ++part) {
    near[part] = lane + 32 * part < centroids.clusters && !(distances[part] > limit);
    count += __popc(__ballot_sync(~0u, near[part]));
  }
  candidate best;
#pragma unroll
  for (int part = 0; part < most_warp_clusters / 32; ++part) {
    const int k = lane + 32 * part;
    if (!near[part]) continue;
    best.take(count == 1 ? 0.0 : exact_distance(row, centroids.values + std::size_t(k) * columns, columns), k);
  }
  for (int step = 16; step > 0; step /= 2) {
    const double distance = __shfl_xor_sync(~0u, best.distance, step);
    const int cluster = __shfl_xor_sync(~0u, best.cluster, step);
    best.take(distance, cluster);
  }
  if (lane == 0) *label = best.cluster;
}

template <class Scalar, class Of>
__global__ void __launch_bounds__(threads, 2)
    decide_kernel(cuda::device_piece<Scalar> piece, device_centroids<Of> centroids, std::int32_t* labels,
                  doubtful_rows doubtful, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped) return;
  const int columns = centroids.columns;
  const unsigned pairs = doubtful.counts[0], open_count = doubtful.counts[1];
  __syncthreads();  // all of the block have read
  const auto decide_pairs = [&](auto of_pair) {
    constexpr unsigned at_once = 32 / of_pair.value;
    for (unsigned i = (blockIdx.x * threads + threadIdx.x) / 32 * at_once; i < pairs;
         i += gridDim.x * (threads / of_pair.value)) {
      // The last warp's idle threads repeat its last pair.
      const int2 pair = doubtful.list[min(i + threadIdx.x % 32 / of_pair.value, pairs - 1)];
      decide_pair<of_pair.value>(piece.rows + std::size_t(pair.x) * columns, centroids, pair.y, labels + pair.x);
    }
  };
  if (columns < wide_pair_columns) {
    decide_pairs(std::integral_constant<int, pair_threads>());
  } else {
    decide_pairs(std::integral_constant<int, 32>());
  }
  const bool by_warps = decides_by_warps(centroids.clusters, columns);
  for (unsigned i = threadIdx.x / 32 * gridDim.x + blockIdx.x; by_warps && i < open_count;
       i += gridDim.x * (threads / 32)) {
    const int row = doubtful.list[doubtful.capacity - 1 - i].x;
    decide_by_warp(piece.rows + std::size_t(row) * columns, centroids, labels + row);
  }
  __shared__ open_rows<Scalar> open;
  extern __shared__ float staged[][together];  // x − origin of the open rows
  for (unsigned first = blockIdx.x * together; !by_warps && first < open_count; first += gridDim.x * together) {
    __syncthreads();  // the rows before are decided
    if (threadIdx.x < together) {
      const unsigned place = min(first + threadIdx.x, open_count - 1);
      const Scalar* row = piece.rows + std::size_t(doubtful.list[doubtful.capacity - 1 - place].x) * columns;
      open.rows[threadIdx.x] = row;
      open.least[threadIdx.x] = std::numeric_limits<float>::max();
    }
    __syncthreads();
    candidate best[together];
    bool in_float32 = false;
    if constexpr (sizeof(Of) == 4) {
      in_float32 = columns <= most_staged_columns;
      if (in_float32) {
        const int warp = threadIdx.x / 32;
        static_assert(together == threads / 32);
        float norm = 0;
        for (int j = threadIdx.x % 32; j < columns; j += 32) {
          const auto x = static_cast<float>(open.rows[warp][j] - static_cast<Scalar>(centroids.origin[j]));
          staged[j][warp] = x;
          norm = fmaf(x, x, norm);
        }
        norm = cuda::warp_sum(norm);
        if (threadIdx.x % 32 == 0) open.norms[warp] = norm;
        __syncthreads();
        compare_in_float32(open, staged, centroids, best);
      }
    }
    if (!in_float32) compare_by_definition(open, centroids, best);
    for (int r = 0; r < together; ++r) {
      for (int step = 16; step > 0; step /= 2) {
        const double distance = __shfl_xor_sync(~0u, best[r].distance, step);
        const int cluster = __shfl_xor_sync(~0u, best[r].cluster, step);
        best[r].take(distance, cluster);
      }
      if (threadIdx.x % 32 == 0) open.of_warp[r][threadIdx.x / 32] = best[r];
    }
    __syncthreads();
    if (threadIdx.x < together && first + threadIdx.x < open_count) {
      candidate all = open.of_warp[threadIdx.x][0];
      for (int w = 1; w < threads / 32; ++w) {
        all.take(open.of_warp[threadIdx.x][w].distance, open.of_warp[threadIdx.x][w].cluster);
      }
      labels[doubtful.list[doubtful.capacity - 1 - first - threadIdx.x].x] = all.cluster;
    }
  }
  // The last block leaves empty lists to the next search; every block has read the counts by then.
  if (threadIdx.x != 0 || atomicAdd(doubtful.counts + 2, 1u) + 1 != gridDim.x) return;
  for (int i = 0; i < 3; ++i) doubtful.counts[i] = 0;
}

}  // namespace

template <class Scalar, class Of>
void decide_doubtful(const cuda::device_piece<Scalar>& piece, const device_centroids<Of>& centroids,
                     std::int32_t* labels, const doubtful_rows& doubtful, const int* stopped, cudaStream_t stream) {
  // Warps that decide by themselves read rows where they are: memory that they leave alone would only keep other blocks
  // from their multiprocessor.
  const bool stages = sizeof(Of) == 4 && centroids.columns <= most_staged_columns &&
                      !decides_by_warps(centroids.clusters, centroids.columns);
  const std::size_t shared = stages ? sizeof(float) * together * static_cast<std::size_t>(centroids.columns) : 0;
  cuda::launch_in_turn(decide_kernel<Scalar, Of>, blocks, threads, shared, stream, piece, centroids, labels, doubtful,
                       stopped);
}
template void decide_doubtful(const cuda::device_piece<float>&, const device_centroids<float>&, std::int32_t*,
                              const doubtful_rows&, const int*, cudaStream_t);
template void decide_doubtful(const cuda::device_piece<double>&, const device_centroids<float>&, std::int32_t*,
                              const doubtful_rows&, const int*, cudaStream_t);
template void decide_doubtful(const cuda::device_piece<double>&, const device_centroids<double>&, std::int32_t*,
                              const doubtful_rows&, const int*, cudaStream_t);

}  // namespace shoal::kmeans
