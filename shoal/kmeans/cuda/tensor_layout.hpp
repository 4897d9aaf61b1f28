// Where a centroid lies in the tiles that the tensor cores read.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>
#include <shoal/kmeans/cuda/tuning.hpp>

namespace shoal::kmeans {

/// Columns are padded to a multiple of 16, beyond 64 of 32: for each multiple there is a kernel.
constexpr int tensor_columns(int columns) {
  return columns <= 64 ? (columns + 15) / 16 * 16 : (columns + 31) / 32 * 32;
}

/// Bytes of a column of a centroid: bf16, or TF32 in a float32's place.
constexpr int tensor_element(precision precision) { return precision == precision::bf16 ? 2 : 4; }

/// Bytes of a tile of cluster_tile centroids: their columns, then their ‖c′‖²/2 in float32.
constexpr std::size_t tensor_tile_bytes(int padded_columns, precision precision) {
  return static_cast<std::size_t>(cluster_tile) *
         static_cast<std::size_t>(padded_columns * tensor_element(precision) + 4);
}

/// Byte of column j of centroid k: core matrices of 8 centroids × 16 bytes, those of 8 centroids and all columns one
/// after another. Within each 16 columns the order is that in which a thread's float4 of a row feeds the products.
/// TF32: columns 4q and 4q + 1 are places q and q + 4 of the first eight, 4q + 2 and 4q + 3 of the second; bf16:
/// columns 4q and 4q + 1 are places 2q and 2q + 1, 4q + 2 and 4q + 3 those of the second eight.
constexpr std::size_t tensor_place(int k, int j, int padded_columns, precision precision) {
  const int q = j % 16 / 4, e = j % 4, bytes = tensor_element(precision), across = 16 / bytes;
  const int place = j / 16 * 16 + e / 2 * 8 + (precision == precision::bf16 ? 2 * q + e % 2 : e % 2 * 4 + q);
  const int in_tile =
      (k % cluster_tile / 8 * 8 * padded_columns + place / across * 8 * across + k % 8 * across + place % across) *
      bytes;
  return static_cast<std::size_t>(k / cluster_tile) * tensor_tile_bytes(padded_columns, precision) +
         static_cast<std::size_t>(in_tile);
}
/// Byte of centroid k's ‖c′‖²/2.
constexpr std::size_t tensor_half_norm(int k, int padded_columns, precision precision) {
  return static_cast<std::size_t>(k / cluster_tile) * tensor_tile_bytes(padded_columns, precision) +
         static_cast<std::size_t>(cluster_tile * padded_columns * tensor_element(precision) + k % cluster_tile * 4);
}

}  // namespace shoal::kmeans
