// The least norms of units about the centre.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int warps = 8;

template <class Number>
__device__ double norm_about(const Number* from, const auto* centre, int columns) {
  double squares = 0;
#pragma unroll 4
  for (int j = threadIdx.x % 32; j < columns; j += 32) {
    const double apart = static_cast<double>(from[j]) - static_cast<double>(centre[j]);
    squares += apart * apart;
  }
  return sqrt(cuda::warp_sum(squares));
}

__device__ void raise(unsigned long long* most, unsigned long long bits) {
  if (threadIdx.x % 32 == 0 && bits > *most) atomicMax(most, bits);
}

// A warp for each unit.
template <class Scalar>
__global__ void __launch_bounds__(32 * warps) nearness_kernel(device_units<Scalar> units) {
  cuda::wait_for_predecessor();
  const int k = min(static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32, units.units - 1);
  const double norm =
      norm_about(units.codebook + static_cast<std::size_t>(k) * units.columns, units.centre, units.columns);
  raise(units.bounds->nearness + k % 2, ~static_cast<unsigned long long>(__double_as_longlong(norm)));
}

}  // namespace

template <class Scalar>
void find_nearness(const device_units<Scalar>& units, cudaStream_t stream) {
  if (units.row_norm < 0) return;
  cuda::launch_in_turn(nearness_kernel<Scalar>, static_cast<unsigned>((units.units + warps - 1) / warps), 32 * warps, 0,
                       stream, units);
}
template void find_nearness(const device_units<float>&, cudaStream_t);
template void find_nearness(const device_units<double>&, cudaStream_t);

}  // namespace shoal::som
