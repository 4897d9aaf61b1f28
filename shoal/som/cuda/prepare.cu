// Units as the search wants them.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/round_to_tf32.cuh>
#include <shoal/som/cuda/far_units.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int unit_threads = 4;  // of a unit
constexpr int together = 8;      // of a thread's numbers, on their way from memory at a time
constexpr int threads = unit_tile * unit_threads;

// Sums over the threads of a unit, greatest values over the warp.
__device__ double sum_of_unit(double value) {
  for (int step = unit_threads / 2; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}
__device__ void raise(unsigned long long* bound, double value) {
  for (int step = 16; step > 0; step /= 2) value = fmax(value, __shfl_xor_sync(~0u, value, step));
  const auto bits = static_cast<unsigned long long>(__double_as_longlong(value));
  if (threadIdx.x % 32 == 0 && bits > *bound) atomicMax(bound, bits);
}

// What a number of a unit gives the products: its nearest number of their type, and what that leaves.
__device__ float nearest_operand(float value, precision precision) {
  return precision == precision::tf32 ? cuda::round_to_tf32(value) : __bfloat162float(__float2bfloat16_rn(value));
}
struct two_parts {
  float first, second;
  float left, residual;  // of the number without the first part, and without both
  __device__ two_parts(float value, precision precision)
      : first(nearest_operand(value, precision)),
        second(nearest_operand(value - first, precision)),
        left(value - first),
        residual(left - second) {}
};

// A block for each tile. Operands are brought together in shared memory, zeros where there is nothing.
template <class Scalar>
__global__ void __launch_bounds__(threads) prepare_kernel(device_units<Scalar> units) {
  cuda::wait_for_predecessor();
  extern __shared__ uint4 operands[];
  const int columns = units.columns, mine = threadIdx.x % unit_threads;
  const int place = static_cast<int>(blockIdx.x) * unit_tile + static_cast<int>(threadIdx.x) / unit_threads;
  const int k = place < units.units ? units.at_place[place] : 0;
  const bool real = place < units.units, cosine = units.metric == metric::cosine;
  const operand_shape shape = operands_for(columns);
  const precision precision = units.precision;
  const int words = units.operands == nullptr ? 0 : static_cast<int>(tile_bytes(shape, precision) / sizeof(uint4));
  const auto write = [&](int at, float value) {
    unsigned char* const to =
        reinterpret_cast<unsigned char*>(operands) + operand_place(operand_at(place) % unit_tile, at, shape, precision);
    if (precision == precision::tf32) {
      *reinterpret_cast<float*>(to) = nearest_operand(value, precision);
    } else {
      *reinterpret_cast<__nv_bfloat16*>(to) = __float2bfloat16_rn(value);
    }
  };
  for (int i = threadIdx.x; i < words; i += threads) operands[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();

  const double* const from = units.codebook + static_cast<std::size_t>(k) * columns;
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
  // Units that no row can be near are as if they were not there, where scores can say so.
  bool there = real;
  if (units.row_norm >= 0 && units.starts != nullptr) {
    double own = 0;
    for (int j = mine; j < columns; j += unit_threads) {
      const double apart = from[j] - static_cast<double>(units.centre[j]);
      own += apart * apart;
    }
    own = sqrt(sum_of_unit(own));
    there = real && !(own > far_norm(units));
  }
  double squares = 0, second_squares = 0, residual_squares = 0, sum = 0, greatest = 0;
  // Reads do not pass writes, so several come before them.
  for (int begin = mine; begin < columns; begin += unit_threads * together) {
    double values[together], centres[together];
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = min(begin + unit_threads * t, columns - 1);
      values[t] = real ? from[j] : 0.0;
      centres[t] = static_cast<double>(units.centre[j]);
    }
#pragma unroll
    for (int t = 0; t < together; ++t) {
      const int j = begin + unit_threads * t;
      if (j >= columns) break;
      double value = values[t];
      if (cosine && largest > 0) value = __ddiv_rn(__ddiv_rn(value, largest), length);
      if (cosine && real) units.exact[static_cast<std::size_t>(k) * columns + j] = value;
      const auto shifted = there ? static_cast<Scalar>(value - centres[t]) : Scalar{0};
      units.turned[static_cast<std::size_t>(j) * units.padded + place] = shifted;
      const double wide = static_cast<double>(shifted);
      squares += wide * wide;
      sum += fabs(wide);
      greatest = fmax(greatest, fabs(wide));
      if constexpr (sizeof(Scalar) == 4) {
        if (words == 0) continue;
        const two_parts parts(-shifted, precision);
        write(j, parts.first);
        if (units.rough()) continue;
        write(16 * second_parts(shape) + j, parts.second);
        second_squares += static_cast<double>(parts.left) * static_cast<double>(parts.left);
        residual_squares += static_cast<double>(parts.residual) * static_cast<double>(parts.residual);
      }
    }
  }
  squares = sum_of_unit(squares);
  raise(&units.bounds->norm, units.metric == metric::taxicab     ? sum_of_unit(sum)
                             : units.metric == metric::chebyshev ? greatest
                                                                 : sqrt(squares));
  // They score beyond all others.
  constexpr double beyond = sizeof(Scalar) == 4 ? 0x1p126 : 0x1p1000;
  const auto start = static_cast<Scalar>(!there ? beyond : cosine ? 0.0 : squares / 2);
  if (units.starts != nullptr && mine == 0) units.starts[place] = start;
  if constexpr (sizeof(Scalar) == 4) {
    if (words == 0) return;
    if (!units.rough()) {
      raise(&units.bounds->second, sqrt(sum_of_unit(second_squares)));
      raise(&units.bounds->residual, sqrt(sum_of_unit(residual_squares)));
    }
    // Three parts of half the squared norm, and a one.
    const two_parts half_norm(start, precision);
    write(shape.tail(columns) + mine, mine == 0   ? half_norm.first
                                      : mine == 1 ? half_norm.second
                                      : mine == 2 ? half_norm.residual
                                                  : 1.0f);
    __syncthreads();
    auto* const to = reinterpret_cast<uint4*>(units.operands) + std::size_t{blockIdx.x} * words;
    for (int i = threadIdx.x; i < words; i += threads) to[i] = operands[i];
  }
}

}  // namespace

template <class Scalar>
void prepare_units(const device_units<Scalar>& units, cudaStream_t stream) {
  const std::size_t shared = units.operands == nullptr ? 0 : tile_bytes(operands_for(units.columns), units.precision);
  cuda::launch_in_turn(prepare_kernel<Scalar>, static_cast<unsigned>(units.padded / unit_tile), threads, shared, stream,
                       units);
}
template void prepare_units(const device_units<float>&, cudaStream_t);
template void prepare_units(const device_units<double>&, cudaStream_t);

}  // namespace shoal::som
