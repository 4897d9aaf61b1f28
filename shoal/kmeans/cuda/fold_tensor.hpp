// Rows of a few dozen columns, labelled on the tensor cores and summed in one pass over memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/kmeans/cuda/kernels.hpp>

namespace shoal::kmeans {

/// For so many columns and clusters, those beyond 64 where sixteen warps have room, and from so many rows for each
/// multiprocessor on; with exact labels for fewer columns. Steps of (rows, columns, clusters) take on an H200 in
/// separate passes and so, by turns, in ms, TF32 (10⁷, 33, 10) 1.93 and 1.24, (10⁷, 32, 10) 1.49 and 1.03, (10⁷, 33,
/// 64) 1.88 and 1.25, (10⁷, 48, 64) 1.96 and 1.58, (10⁷, 16, 64) 0.994 and 0.736, (10⁷, 16, 100) 1.05 and 0.874, (10⁶,
/// 48, 33) 0.224 and 0.145, bf16 (10⁶, 13, 100) 0.117 and 0.104, exact (10⁷, 32, 64) 1.65 and 1.33, (10⁶, 17, 5) 0.175
/// and 0.117, (10⁶, 16, 64) 0.119 and 0.115. But TF32 (10⁷, 16, 256), with room for the sums of half as many
/// warps, 1.18 and 1.45, exact (10⁶, 64, 33) 0.273 and 0.304.
inline constexpr std::size_t least_tensor_fold_columns = 13;
inline constexpr std::size_t most_tensor_fold_columns = 48, most_exact_tensor_fold_columns = 32;
inline constexpr std::size_t most_tensor_fold_clusters = 128;
inline constexpr std::size_t least_tensor_fold_rows = 4096;
/// And where no entry is farther from the origin, about which squares of distances neither vanish nor leave float32.
inline constexpr double least_tensor_fold_extent = 1e-9, most_tensor_fold_extent = 1e15;

/// Without warps where there is no room for the sums of so many clusters, or rows are too few. Only unweighted rows are
/// summed so.
sum_plan make_tensor_fold_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, precision products,
                               std::size_t multiprocessors, std::size_t shared_bytes);

/// Adds the piece's rows to the lanes and their labels to the fingerprint; needs what prepare_centroids() derives, and
/// centroids.tensor. Labels are those of search_tensor(), decided. `labels` may be null.
void fold_tensor(const sum_plan& plan, const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
                 std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
                 cudaStream_t stream);

}  // namespace shoal::kmeans
