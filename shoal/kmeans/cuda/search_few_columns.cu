// The nearest centroid for few columns: a thread for each row, all centroids in shared memory, distances in float32.
#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {
namespace {

constexpr int threads = 256;

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

template <int Columns, class Scalar>
__global__ void __launch_bounds__(threads)
    search_kernel(cuda::device_piece<Scalar> piece, device_centroids<float> centroids, std::int32_t* labels,
                  const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped) return;
  extern __shared__ float4 negated[];  // −c′, zero beyond the last column
  for (int k = threadIdx.x; k < centroids.clusters; k += threads) {
    float c[4] = {};
#pragma unroll
    for (int j = 0; j < Columns; ++j) c[j] = centroids.negated[std::size_t(j) * centroids.padded + k];
    negated[k] = make_float4(c[0], c[1], c[2], c[3]);
  }
  __syncthreads();
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (row >= piece.count) return;
  const Scalar* from = piece.rows + row * Columns;
  float x[Columns], norm = 0;
#pragma unroll
  for (int j = 0; j < Columns; ++j) {
    x[j] = static_cast<float>(from[j] - static_cast<Scalar>(centroids.origin[j]));
    norm = fmaf(x[j], x[j], norm);
  }
  float best = std::numeric_limits<float>::infinity(), second = best;
  int label = 0;
#pragma unroll 4
  for (int k = 0; k < centroids.clusters; ++k) {
    const float4 all = negated[k];
    const float c[4] = {all.x, all.y, all.z, all.w};
    float distance = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) distance = fmaf(x[j] + c[j], x[j] + c[j], distance);
    label = distance < best ? k : label;
    second = fminf(second, fmaxf(best, distance));
    best = fminf(best, distance);
  }
  // (d + 3) roundings of a distance D, and 2√D·η + η² for a row and a centroid that rounding x′ and c′ moved by η.
  constexpr float unit = 0x1p-24f * 1.05f;
  const float largest =
      static_cast<float>(__longlong_as_double(static_cast<long long>(centroids.bounds->largest_norm)) * 1.0001);
  const float moved = unit * (sqrtf(norm) + sqrtf(largest));
  const float error = (Columns + 4) * unit * second + 2.001f * sqrtf(second) * moved + moved * moved +
                      8 * std::numeric_limits<float>::min();
  if (!(second - best > 2 * error) && centroids.clusters > 1) {
    label = nearest_in_float64<Columns>(from, centroids.values, centroids.clusters);
  }
  labels[row] = label;
}

template <int Columns, class Scalar>
void launch(const cuda::device_piece<Scalar>& piece, const device_centroids<float>& centroids, std::int32_t* labels,
            const int* stopped, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((piece.count + threads - 1) / threads);
  cuda::launch_in_turn(search_kernel<Columns, Scalar>, blocks, threads,
                       static_cast<std::size_t>(centroids.clusters) * sizeof(float4), stream, piece, centroids, labels,
                       stopped);
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
