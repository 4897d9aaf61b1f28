// Rows as the operands of Hopper's products with centroids, and what the proof of a row's nearest centroid needs of
// them.
#pragma once

#include <cuda_runtime.h>

#include <limits>

#include <shoal/execution/cuda/round_to_tf32.cuh>
#include <shoal/execution/precision.hpp>
#include <shoal/nearest/cuda/least_keys.cuh>

namespace shoal::kmeans {

// Of each 16 columns of two rows, four neighbours.
template <int Chunks>
using row_parts = float4[2][Chunks];

// Rows as the products want them, and what the proof needs of them.
template <int Chunks, precision Precision>
struct row_operands {
  static constexpr int steps = Precision == precision::bf16 ? Chunks : 2 * Chunks;
  // Float32 is cut off to TF32.
  static constexpr precision numbers = Precision == precision::bf16 ? precision::bf16 : precision::tf32;
  unsigned values[steps][4];
  float norms[2], residuals[2];

  __device__ void set(const row_parts<Chunks>& parts, const float4* origin) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      norms[half] = residuals[half] = 0;
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
        const float4 x4 = parts[half][c], o = origin[4 * c];
        const float x[4] = {x4.x - o.x, x4.y - o.y, x4.z - o.z, x4.w - o.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) norms[half] = fmaf(x[e], x[e], norms[half]);
        if constexpr (Precision == precision::bf16) {
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                : "=r"(values[c][2 * pair + half])
                : "f"(x[2 * pair + 1]), "f"(x[2 * pair]));
          }
        } else {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const float rounded = cuda::round_to_tf32(x[e]);
            values[2 * c + e / 2][e % 2 * 2 + half] = __float_as_uint(rounded);
            if constexpr (Precision == precision::float32) {
              residuals[half] = fmaf(x[e] - rounded, x[e] - rounded, residuals[half]);
            }
          }
        }
      }
    }
    // Products read them as they are now; left to itself the compiler rounds again for each tile.
#pragma unroll
    for (int i = 0; i < 4 * steps; ++i) asm volatile("" : "+r"(values[i / 4][i % 4]));
  }
};

// Half a squared distance, less what is the same for every centroid, differs from its score by no more than
//   ‖x′ − x̂‖ ‖c′‖ + ‖x̂‖ ‖c′ − ĉ‖      what rounding to TF32 lost,
//   a · (‖x′‖ ‖c′‖ + ‖c′‖²/2)          8 roundings of float32 for the inputs and ‖c′‖²/2,
//   b units of a key                   the sums of 8 products and what came before, each of 9 terms cut off at a unit,
//                                      and the sum of ‖c′‖²/2 and the offset.
template <int Chunks>
__device__ float score_error(float magnitude, float x, float residual, float c, float largest_residual, float unit) {
  constexpr float a = 1.05f * 8 * 0x1p-24f, b = 9.0f * (2 * Chunks) + 1;
  const float lost = quick_root(residual) * 1.0001f * c + 1.001f * x * largest_residual;
  // Magnitudes near the largest number make the gap infinite: nothing is proved there.
  return lost + a / 16 * (16 * magnitude) + b * unit +
         4 * static_cast<float>(16 * Chunks + 8) * std::numeric_limits<float>::min();
}

}  // namespace shoal::kmeans
