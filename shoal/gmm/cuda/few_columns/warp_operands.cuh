// A warp's rows as operands of both its products: made in registers, turned around through shared memory.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include <shoal/gmm/cuda/few_columns/product_rows.cuh>
#include <shoal/gmm/cuda/few_columns/warp_products.hpp>
#include <shoal/gmm/cuda/tensor/products.cuh>

namespace shoal::gmm::few_columns {

/// Numbers of one matrix of 8 × 8 float16 numbers, which lies in one piece in shared memory.
inline constexpr unsigned matrix_numbers = 64;
/// Writes four matrices, of which thread 4 g + t holds numbers (g, 2 t) and (g, 2 t + 1), one after the other; `to` is
/// where the first is to lie, and eight numbers further on for each thread of the warp.
__device__ inline void store_matrices(std::uint16_t* to, const std::uint32_t (&from)[4]) {
#if __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
#else
  const unsigned lane = threadIdx.x % 32;
  to -= lane * 8;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) reinterpret_cast<std::uint32_t*>(to + i * matrix_numbers)[lane] = from[i];
#endif
}

/// Without what logarithm_of_two() does about numbers below 2⁻¹²⁶.
__device__ inline float approximate_logarithm_of_two(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// Columns of a row that a thread's features are made of: its own two, and those up to four further on.
inline constexpr unsigned thread_columns = warp_circle_of(narrow_warp_columns).thread_columns();
inline constexpr unsigned read_columns = thread_columns + narrow_warp_columns / 2;

/// The columns of one row that a thread reads.
template <int Columns>
struct circle_of_columns {
  float x[read_columns] = {};

  /// `rows` are the places of each two columns in some row; `row` further on.
  __device__ void load(const float* const (&rows)[read_columns / 2], unsigned row) {
#pragma unroll
    for (unsigned i = 0; i < read_columns; i += 2) {
      const float* const from = rows[i / 2] + row * Columns;
      if constexpr (Columns == static_cast<int>(narrow_warp_columns)) {
        const float2 two = __ldg(reinterpret_cast<const float2*>(from));
        x[i] = two.x;
        x[i + 1] = two.y;
      } else {
        const unsigned column = (thread_columns * (threadIdx.x % 4) + i) % narrow_warp_columns;
        if (column < Columns) x[i] = __ldg(from);
        if (column + 1 < Columns) x[i + 1] = __ldg(from + 1);
      }
    }
  }

  /// The row in the frame, of which `frame` is what the thread's columns are moved by.
  __device__ circle_of_columns moved(const float4 (&frame)[read_columns / 2]) const {
    circle_of_columns row;
#pragma unroll
    for (unsigned i = 0; i < read_columns; i += 2) {
      row.x[i] = fmaf(x[i], frame[i / 2].x, frame[i / 2].y);
      row.x[i + 1] = fmaf(x[i + 1], frame[i / 2].z, frame[i / 2].w);
    }
    return row;
  }
};

/// A moved row as sums of two float16 terms: of neighbours i and i + 1.
struct split_columns {
  std::uint32_t high[read_columns - 1], low[read_columns - 1];

  template <int Columns>
  __device__ explicit split_columns(const circle_of_columns<Columns>& row) {
#pragma unroll
    for (unsigned i = 0; i < read_columns; i += 2) tensor::split(row.x[i], row.x[i + 1], high[i], low[i]);
#pragma unroll
    for (unsigned i = 1; i + 1 < read_columns; i += 2) {
      high[i] = __byte_perm(high[i - 1], high[i + 1], 0x5432);
      low[i] = __byte_perm(low[i - 1], low[i + 1], 0x5432);
    }
  }

  /// Two features, in float16 throughout: a product of high terms leaves a remainder that float16 holds, and the other
  /// terms are as small.
  template <unsigned Slot>
  __device__ void features(bool counts_twice, std::uint32_t& to_high, std::uint32_t& to_low) const {
    constexpr unsigned one = 0x3C003C00;
    if constexpr (Slot < thread_columns) {
      to_high = high[0];
      to_low = low[0];
    } else {
      constexpr unsigned apart = Slot / thread_columns - 1;
      const auto pair = [](const std::uint32_t& bits) { return *reinterpret_cast<const __half2*>(&bits); };
      const __half2 product = __hmul2(pair(high[0]), pair(high[apart]));
      __half2 rest = __hfma2(pair(high[0]), pair(high[apart]), __hneg2(product));
      rest = __hfma2(pair(high[0]), pair(low[apart]), rest);
      rest = __hfma2(pair(low[0]), pair(high[apart]), rest);
      constexpr bool last = Slot == thread_columns * (1 + narrow_warp_columns / 2);
      to_high = last && counts_twice ? one : tensor::bits_of(product);
      to_low = last && counts_twice ? 0 : tensor::bits_of(rest);
    }
  }
};

/// Of sixteen rows, of which the thread has rows g and g + 8: the first factor of product Step.
template <unsigned Step>
__device__ void make_operands(const split_columns& first, const split_columns& second, bool counts_twice,
                              std::uint32_t (&high)[4], std::uint32_t (&low)[4]) {
  first.template features<4 * Step>(counts_twice, high[0], low[0]);
  second.template features<4 * Step>(counts_twice, high[1], low[1]);
  first.template features<4 * Step + 2>(counts_twice, high[2], low[2]);
  second.template features<4 * Step + 2>(counts_twice, high[3], low[3]);
}

/// Where a thread reads four of these matrices turned around, features by rows, as second factors ask for them.
__device__ inline unsigned turned_place() {
  const unsigned lane = threadIdx.x % 32, matrix = lane / 8;
  return (matrix % 2 * 2 + matrix / 2) * matrix_numbers + lane % 8 * 8;
}

}  // namespace shoal::gmm::few_columns
