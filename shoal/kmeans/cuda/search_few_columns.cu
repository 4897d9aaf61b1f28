// The nearest centroid for few columns: rows to a thread, all centroids in shared memory, distances in float32.
#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/nearest/cuda/least_two.cuh>

namespace shoal::kmeans {
namespace {

constexpr int threads = 256;
constexpr float far_away = 1e18f;  // whose square float32 has

template <int Columns, class Scalar>
__device__ int nearest_in_float64(const Scalar* row, const double* centroids, int clusters) {
  double x[Columns];
#pragma unroll
  for (int j = 0; j < Columns; ++j) x[j] = static_cast<double>(row[j]);
  int nearest = 0;
  double least = 0;
  for (int k = 0; k < clusters; ++k) {
    double distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const double difference = __dsub_rn(x[j], centroids[k * Columns + j]);
      distance = __dadd_rn(distance, __dmul_rn(difference, difference));
    }
    if (k == 0 || distance < least) {
      least = distance;
      nearest = k;
    }
  }
  return nearest;
}

// Clusters whose distances are compared with each other before the least of them is with the others'.
constexpr int together = 16;

// A thread has rows i, i + threads, …, Each of them, which share the centroids that it loads.
template <int Columns, int Each, class Scalar>
__global__ void __launch_bounds__(threads)
    search_kernel(cuda::device_piece<Scalar> piece, device_centroids<float> centroids, std::int32_t* labels,
                  const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped) return;
  extern __shared__ float4 negated[];  // −c′, zero beyond the last column, far away beyond the last cluster
  const int padded = (centroids.clusters + together - 1) / together * together;
  for (int k = static_cast<int>(threadIdx.x); k < padded; k += threads) {
    float c[4] = {};
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      c[j] = k < centroids.clusters ? centroids.negated[std::size_t(j) * centroids.padded + k] : far_away;
    }
    negated[k] = make_float4(c[0], c[1], c[2], c[3]);
  }
  __syncthreads();
  const std::size_t first = std::size_t{blockIdx.x} * (threads * Each) + threadIdx.x;
  if (first >= piece.count) return;
  const auto row_of = [&](int r) { return min(first + std::size_t(r) * threads, piece.count - 1); };
  float x[Each][Columns], norm[Each];
  least_two<float> least[Each];  // of the groups of clusters
#pragma unroll
  for (int r = 0; r < Each; ++r) {
    norm[r] = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[r][j] = static_cast<float>(piece.rows[row_of(r) * Columns + j] - static_cast<Scalar>(centroids.origin[j]));
      norm[r] = fmaf(x[r][j], x[r][j], norm[r]);
    }
  }
  const auto distance_to = [&](const float(&from)[Columns], float4 all) {
    const float c[4] = {all.x, all.y, all.z, all.w};
    float distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) distance = fmaf(from[j] + c[j], from[j] + c[j], distance);
    return distance;
  };
  for (int k = 0; k < padded; k += together) {
    float smallest[Each];
#pragma unroll
    for (int r = 0; r < Each; ++r) smallest[r] = INFINITY;
#pragma unroll
    for (int u = 0; u < together; ++u) {
      const float4 all = negated[k + u];
#pragma unroll
      for (int r = 0; r < Each; ++r) smallest[r] = fminf(smallest[r], distance_to(x[r], all));
    }
#pragma unroll
    for (int r = 0; r < Each; ++r) least[r].take(smallest[r], k);
  }
  // (d + 3) roundings of a distance D, and 2√D·η + η² for a row and a centroid that rounding x′ and c′ moved by η.
  constexpr float unit = 0x1p-24f * 1.05f;
  const float largest =
      static_cast<float>(__longlong_as_double(static_cast<long long>(centroids.bounds->largest_norm)) * 1.0001);
#pragma unroll
  for (int r = 0; r < Each; ++r) {
    if (first + std::size_t(r) * threads >= piece.count) break;
    least_two<float> near;
    for (int u = 0; u < together; ++u)
      near.take(distance_to(x[r], negated[least[r].nearest + u]), least[r].nearest + u);
    const float second = fminf(near.second, least[r].second);
    const float moved = unit * (sqrtf(norm[r]) + sqrtf(largest));
    const float error = (Columns + 4) * unit * second + 2.001f * sqrtf(second) * moved + moved * moved +
                        8 * std::numeric_limits<float>::min();
    int label = near.nearest;
    if ((!(second - near.first > 2 * error) && centroids.clusters > 1) || label >= centroids.clusters) {
      label = nearest_in_float64<Columns>(piece.rows + row_of(r) * Columns, centroids.values, centroids.clusters);
    }
    labels[row_of(r)] = label;
  }
}

template <int Columns, class Scalar>
void launch(const cuda::device_piece<Scalar>& piece, const device_centroids<float>& centroids, std::int32_t* labels,
            const int* stopped, cudaStream_t stream) {
  const std::size_t bytes = std::size_t((centroids.clusters + together - 1) / together * together) * sizeof(float4);
  const auto start = [&](auto kernel, std::size_t each) {
    const auto blocks = static_cast<unsigned>((piece.count + threads * each - 1) / (threads * each));
    cuda::launch_in_turn(kernel, blocks, threads, bytes, stream, piece, centroids, labels, stopped);
  };
  if (piece.count < few_search_rows) return start(search_kernel<Columns, 1, Scalar>, 1);
  start(search_kernel<Columns, 4, Scalar>, 4);
}

}  // namespace

template <class Scalar>
void search_few_columns(const cuda::device_piece<Scalar>& piece, const device_centroids<float>& centroids,
                        std::int32_t* labels, const int* stopped, cudaStream_t stream) {
  switch (centroids.columns) {
    case 1:
      return launch<1>(piece, centroids, labels, stopped, stream);
    case 2:
      return launch<2>(piece, centroids, labels, stopped, stream);
    case 3:
      return launch<3>(piece, centroids, labels, stopped, stream);
    default:
      return launch<4>(piece, centroids, labels, stopped, stream);
  }
}
template void search_few_columns(const cuda::device_piece<float>&, const device_centroids<float>&, std::int32_t*,
                                 const int*, cudaStream_t);
template void search_few_columns(const cuda::device_piece<double>&, const device_centroids<float>&, std::int32_t*,
                                 const int*, cudaStream_t);

}  // namespace shoal::kmeans
