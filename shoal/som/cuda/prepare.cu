// Units as the search wants them.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int warps = 8;

__device__ double sum_over_warp(double value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}
__device__ double greatest_of_warp(double value) {
  for (int step = 16; step > 0; step /= 2) value = fmax(value, __shfl_xor_sync(~0u, value, step));
  return value;
}
__device__ void raise(unsigned long long* bound, double value) {
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  if (bits > *bound) atomicMax(bound, bits);
}

struct operand_writer {
  operand_shape shape;
  bool rough;
  unsigned char* operands;
  int unit;
  __device__ void write(int place, __nv_bfloat16 value) const {
    *reinterpret_cast<__nv_bfloat16*>(operands + operand_place(unit, place, shape, rough)) = value;
  }
};

// A warp for each unit.
template <class Scalar>
__global__ void prepare_kernel(device_units<Scalar> units) {
  cuda::wait_for_predecessor();
  const int k = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32;
  const int lane = threadIdx.x % 32, columns = units.columns;
  if (k >= units.padded) return;
  const bool real = k < units.units;
  const double* const from = units.codebook + static_cast<std::size_t>(k) * columns;
  const bool cosine = units.metric == metric::cosine;
  // In the order and with the roundings of the host, whose units of length 1 have the same bits.
  double largest = 0, length = 0;
  if (cosine && real) {
    for (int j = 0; j < columns; ++j) largest = fmax(largest, fabs(from[j]));
    for (int j = 0; j < columns && largest > 0; ++j) {
      const double scaled = __ddiv_rn(from[j], largest);
      length = __dadd_rn(length, __dmul_rn(scaled, scaled));
    }
    length = __dsqrt_rn(length);
  }
  const operand_writer to{operands_for(columns), units.rough, units.operands, k};
  double squares = 0, second_squares = 0, residual_squares = 0, sum = 0, greatest = 0;
  for (int j = lane; j < columns; j += 32) {
    double value = real ? from[j] : 0.0;
    if (cosine && largest > 0) value = __ddiv_rn(__ddiv_rn(value, largest), length);
    if (cosine && real) units.exact[static_cast<std::size_t>(k) * columns + j] = value;
    const double centre = cosine ? 0.0 : static_cast<double>(units.centre[j]);
    const auto shifted = real ? static_cast<Scalar>(value - centre) : Scalar{0};
    units.turned[static_cast<std::size_t>(j) * units.padded + k] = shifted;
    const double wide = static_cast<double>(shifted);
    squares += wide * wide;
    sum += fabs(wide);
    greatest = fmax(greatest, fabs(wide));
    if constexpr (sizeof(Scalar) == 4) {
      if (units.operands == nullptr) continue;
      const __nv_bfloat16 first = __float2bfloat16_rn(-shifted);
      const float left = -shifted - __bfloat162float(first);
      to.write(j, first);
      if (units.rough) continue;
      const __nv_bfloat16 second = __float2bfloat16_rn(left);
      to.write(16 * second_parts(to.shape) + j, second);
      const float residual = left - __bfloat162float(second);
      second_squares += static_cast<double>(left) * static_cast<double>(left);
      residual_squares += static_cast<double>(residual) * static_cast<double>(residual);
    }
  }
  squares = sum_over_warp(squares);
  second_squares = sum_over_warp(second_squares);
  residual_squares = sum_over_warp(residual_squares);
  sum = sum_over_warp(sum);
  greatest = greatest_of_warp(greatest);
  if constexpr (sizeof(Scalar) == 4) {
    if (units.operands != nullptr && lane < 4) {
      // Units that are not there score beyond all others.
      const float half_norm = !real ? 0x1p126f : cosine ? 0.0f : static_cast<float>(squares / 2);
      const __nv_bfloat16 first = __float2bfloat16_rn(half_norm);
      const float left = half_norm - __bfloat162float(first);
      const __nv_bfloat16 second = __float2bfloat16_rn(left);
      const __nv_bfloat16 third = __float2bfloat16_rn(left - __bfloat162float(second));
      to.write(to.shape.tail(columns) + lane, lane == 0   ? first
                                              : lane == 1 ? second
                                              : lane == 2 ? third
                                                          : __float2bfloat16_rn(1.0f));
    }
  }
  if (!real || lane != 0) return;
  raise(&units.bounds->norm, units.metric == metric::taxicab     ? sum
                             : units.metric == metric::chebyshev ? greatest
                                                                 : sqrt(squares));
  if (units.operands == nullptr || units.rough) return;
  raise(&units.bounds->second, sqrt(second_squares));
  raise(&units.bounds->residual, sqrt(residual_squares));
}

}  // namespace

template <class Scalar>
void prepare_units(const device_units<Scalar>& units, cudaStream_t stream) {
  cuda::launch_in_turn(prepare_kernel<Scalar>, static_cast<unsigned>((units.padded + warps - 1) / warps), 32 * warps, 0,
                       stream, units);
}
template void prepare_units(const device_units<float>&, cudaStream_t);
template void prepare_units(const device_units<double>&, cudaStream_t);

}  // namespace shoal::som
