// Where a centroid lies in the tiles that the tensor cores read.
#pragma once

#include <cstddef>

#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {

/// Columns are padded to a multiple of 16.
constexpr int tensor_columns(int columns) { return (columns + 15) / 16 * 16; }

/// Floats of a tile of cluster_tile centroids: their columns, then their ‖c′‖²/2.
constexpr std::size_t tensor_tile(int padded_columns) {
  return static_cast<std::size_t>(cluster_tile) * static_cast<std::size_t>(padded_columns + 1);
}

/// Place of column j of centroid k: core matrices of 8 centroids × 4 columns (128 bytes), those of 8 centroids and all
/// columns one after another. Within each 16 columns the order is that in which a thread's float4 of a row feeds the
/// products: columns 4q and 4q + 1 are places q and q + 4 of the first eight, 4q + 2 and 4q + 3 of the second.
constexpr std::size_t tensor_place(int k, int j, int padded_columns) {
  const int q = j % 16 / 4, e = j % 4;
  const int place = j / 16 * 16 + (e / 2) * 8 + (e % 2) * 4 + q;
  const int in_tile = k % cluster_tile / 8 * 8 * padded_columns + place / 4 * 32 + k % 8 * 4 + place % 4;
  return static_cast<std::size_t>(k / cluster_tile) * tensor_tile(padded_columns) + static_cast<std::size_t>(in_tile);
}
constexpr std::size_t tensor_half_norm(int k, int padded_columns) {
  return static_cast<std::size_t>(k / cluster_tile) * tensor_tile(padded_columns) +
         static_cast<std::size_t>(cluster_tile * padded_columns + k % cluster_tile);
}

#ifdef __CUDACC__
/// The nearest TF32 number (10 bits of mantissa; ties away from zero).
__device__ inline float round_to_tf32(float value) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return __uint_as_float(bits);
}
#endif

}  // namespace shoal::kmeans
