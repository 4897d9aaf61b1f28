// Centroids as the search wants them.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/round_to_tf32.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/tensor_layout.hpp>

namespace shoal::kmeans {
namespace {

constexpr int warps = 8;

// Columns that a lane asks for before the first is used: each alone would take as long as all of them.
constexpr int ahead = 8;

// Warps that share a centroid: all of a block where one would ask more than once.
__host__ __device__ constexpr int sharing(int columns) { return columns > 32 * ahead ? warps : 1; }

// A warp or a block for each centroid. Largest values are kept as bits: float64 numbers that are not negative order
// like integers.
template <class Scalar>
__global__ void prepare_kernel(device_centroids<Scalar> centroids, const int* stopped) {
  cuda::wait_for_predecessor();
  if (*stopped) return;
  const int shares = sharing(centroids.columns), warp = static_cast<int>(threadIdx.x) / 32, part = warp % shares;
  const int k = static_cast<int>(blockIdx.x) * (warps / shares) + warp / shares;
  const int lane = threadIdx.x % 32;
  if (k >= centroids.padded) return;
  const bool real = k < centroids.clusters;
  const std::size_t padded = centroids.padded;
  double norm = 0, residual = 0;
  const auto place = [&](int j, double given, Scalar origin) {
    const double value = real ? given : 0;
    const auto shifted = real ? static_cast<Scalar>(value - static_cast<double>(origin)) : Scalar{0};
    centroids.turned[j * padded + k] = real ? value : static_cast<double>(INFINITY);
    centroids.negated[j * padded + k] = -shifted;
    if (real) centroids.rounded[std::size_t(k) * centroids.columns + j] = static_cast<Scalar>(value);
    norm += static_cast<double>(shifted) * static_cast<double>(shifted);
    if constexpr (sizeof(Scalar) == 4) {
      if (centroids.tensor != nullptr) {
        const int padded_columns = tensor_columns(centroids.columns);
        auto* const to =
            static_cast<unsigned char*>(centroids.tensor) + tensor_place(k, j, padded_columns, centroids.products);
        if (centroids.products == precision::bf16) {
          *reinterpret_cast<__nv_bfloat16*>(to) = __float2bfloat16_rn(-shifted);
          return;
        }
        const float rounded = cuda::round_to_tf32(shifted);
        *reinterpret_cast<float*>(to) = -rounded;
        const double lost = static_cast<double>(shifted) - static_cast<double>(rounded);
        residual += lost * lost;
      }
    }
  };
  for (int first = 32 * ahead * part + lane; first < centroids.columns; first += 32 * ahead * shares) {
    double values[ahead];
    Scalar origins[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      const int j = first + 32 * i;
      const bool there = real && j < centroids.columns;
      values[i] = there ? centroids.values[std::size_t(k) * centroids.columns + j] : 0;
      origins[i] = there ? centroids.origin[j] : Scalar{0};
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      if (first + 32 * i < centroids.columns) place(first + 32 * i, values[i], origins[i]);
    }
  }
  for (int step = 16; step > 0; step /= 2) {
    norm += __shfl_xor_sync(~0u, norm, step);
    residual += __shfl_xor_sync(~0u, residual, step);
  }
  if (shares > 1) {
    __shared__ double parts[warps][2];
    if (lane == 0) {
      parts[part][0] = norm;
      parts[part][1] = residual;
    }
    __syncthreads();
    for (int other = 1; other < shares && part == 0; ++other) {
      norm += parts[other][0];
      residual += parts[other][1];
    }
  }
  if (lane != 0 || part != 0) return;
  const Scalar half_norm = real ? static_cast<Scalar>(norm / 2) : std::numeric_limits<Scalar>::max() / 8;
  centroids.half_norms[k] = half_norm;
  if constexpr (sizeof(Scalar) == 4) {
    if (centroids.tensor != nullptr) {
      auto* const to = static_cast<unsigned char*>(centroids.tensor) +
                       tensor_half_norm(k, tensor_columns(centroids.columns), centroids.products);
      *reinterpret_cast<float*>(to) = half_norm;
    }
  }
  if (!real) return;
  atomicMax(&centroids.bounds->largest_norm, static_cast<unsigned long long>(__double_as_longlong(norm)));
  atomicMax(&centroids.bounds->largest_residual, static_cast<unsigned long long>(__double_as_longlong(residual)));
}

}  // namespace

template <class Scalar>
void prepare_centroids(const device_centroids<Scalar>& centroids, const int* stopped, cudaStream_t stream) {
  cuda::launch_in_turn(prepare_kernel<Scalar>, (centroids.padded * sharing(centroids.columns) + warps - 1) / warps,
                       32 * warps, 0, stream, centroids, stopped);
}
template void prepare_centroids(const device_centroids<float>&, const int*, cudaStream_t);
template void prepare_centroids(const device_centroids<double>&, const int*, cudaStream_t);

}  // namespace shoal::kmeans
