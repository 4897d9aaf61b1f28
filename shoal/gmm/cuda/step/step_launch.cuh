// How the threads that end a step are cut into groups, by the shape of the mixture alone.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

/// Without matrices, a warp does a component of so many columns; with them, one of `most_warp_order`.
inline constexpr unsigned most_warp_columns = 256;
inline constexpr unsigned most_warp_order = 8;

/// So many components of a warp each are done by one block, which needs to wait for no other.
inline constexpr unsigned most_warps = 16;
inline constexpr unsigned warps_of_many_blocks = 8;

/// One block makes the covariance of tied components when it takes at most so many multiply-adds.
inline constexpr std::size_t most_tied_products = std::size_t{1} << 20;

/// Blocks of a multiprocessor that have components without matrices: these wait for memory most of the time.
inline constexpr unsigned vector_blocks = 4;

/// Shared memory that kernels declare themselves.
inline constexpr std::size_t static_shared_bytes = 1024;

/// Threads of a block for one component, whose threads hold many numbers each.
inline constexpr unsigned most_block_threads = 512;

/// Where a component's work and its sums are: beyond a block's shared memory many blocks share a matrix, in tiles.
enum class step_memory : int { shared_with_sums, shared, tiles };

struct step_launch {
  bool warps = false;  ///< a warp for each component, else a block
  unsigned blocks = 1;
  unsigned threads = 32;
  std::size_t shared = 0;  ///< bytes of dynamic shared memory
  step_memory memory = step_memory::shared_with_sums;
};

/// Whether components of a type have matrices.
__host__ __device__ inline bool matrices_of_type(covariance_type type) {
  return type == covariance_type::full || type == covariance_type::tied;
}

/// Doubles between rows of the matrix (Σ | μ − c): odd, so that columns do not share memory banks.
__host__ __device__ inline unsigned matrix_stride(unsigned columns) { return (columns + 1) | 1; }

/// Doubles of that matrix.
__host__ __device__ inline std::size_t matrix_size(unsigned columns) {
  return std::size_t{columns} * matrix_stride(columns);
}

/// Matrices of more columns than these that a block has, and tiles, are eliminated by eliminate_wide().
inline constexpr unsigned most_narrow_columns = 32;

/// Doubles that eliminate_wide() needs beside the matrix.
inline constexpr std::size_t wide_panel_work = 369;

/// Doubles that eliminate() needs beside the matrix, or eliminate_wide() where it may be called.
__host__ __device__ inline std::size_t panel_work(unsigned columns) {
  const std::size_t usual = 8 * (std::size_t{columns} + 1) + 1;
  return columns > most_narrow_columns && usual < wide_panel_work ? wide_panel_work : usual;
}

/// Doubles that a group needs for a component: that matrix, one more vector, and what eliminate() needs; the vector
/// alone without matrices.
__host__ __device__ inline std::size_t component_work(covariance_type type, unsigned columns) {
  const bool matrices = matrices_of_type(type);
  return columns + (matrices ? matrix_size(columns) + panel_work(columns) : 0);
}

/// Centres that a warp keeps beside that: all of few columns, since GPUs with little shared memory have no room for
/// more.
__host__ __device__ inline unsigned kept_centres(const kernel_layout& layout) {
  return layout.columns <= 32 ? layout.columns : 0;
}

/// Doubles that a warp needs for a component, with its sums and centres.
__host__ __device__ inline std::size_t warp_work(const kernel_layout& layout) {
  return component_work(layout.type, layout.columns) + layout.component_size + kept_centres(layout);
}

/// Threads of a block for one component. An earlier elimination took, for 10 components of full type and in
/// microseconds on an NVIDIA H200, with 128, 256 and 512 threads: 16 columns 9.6, 9.8, 11.0; 32
/// columns 20.8, 18.4, 22.2; 64 columns 65.1, 49.9, 51.3; 128 columns 274, 194, 182. This one takes 9.9, 17.0, 41.5 and
/// 138 with those chosen.
/// Without matrices a thread has as few columns as it can, and all threads have as many.
inline unsigned component_threads(const kernel_layout& layout) {
  if (layout.type == covariance_type::diag || layout.type == covariance_type::spherical) {
    const unsigned turns = (layout.columns + most_block_threads - 1) / most_block_threads;
    return ((layout.columns + turns - 1) / turns + 31) / 32 * 32;
  }
  if (layout.type != covariance_type::full || layout.columns <= 16) return 128;
  return layout.columns <= 64 ? 256 : most_block_threads;
}

/// For full, diag and spherical.
inline step_launch choose_step_launch(const kernel_layout& layout, unsigned multiprocessors, std::size_t shared_bytes) {
  const unsigned K = layout.components, d = layout.columns;
  const std::size_t work = component_work(layout.type, layout.columns) * sizeof(double);
  const std::size_t sums = layout.component_size * sizeof(double);
  step_launch launch;
  launch.warps = d <= (layout.type == covariance_type::full ? most_warp_order : most_warp_columns);
  if (launch.warps) {
    const unsigned warps = K <= most_warps ? K : warps_of_many_blocks;
    launch.threads = 32 * warps;
    launch.blocks = (K + warps - 1) / warps;
    launch.shared = warps * warp_work(layout) * sizeof(double);
    return launch;
  }
  launch.blocks = std::min(K, matrices_of_type(layout.type) ? multiprocessors : vector_blocks * multiprocessors);
  launch.threads = component_threads(layout);
  if (work + sums + static_shared_bytes <= shared_bytes) {
    launch.shared = work + sums;
  } else if (work + static_shared_bytes <= shared_bytes) {
    launch.memory = step_memory::shared;
    launch.shared = work;
  } else {
    launch.memory = step_memory::tiles;
  }
  return launch;
}

/// For the matrix that tied components share, by itself.
inline step_launch choose_tied_launch(const kernel_layout& layout, std::size_t shared_bytes) {
  const std::size_t work = component_work(layout.type, layout.columns) * sizeof(double);
  step_launch launch;
  launch.threads = layout.columns <= 64 ? 256 : most_block_threads;
  launch.memory = work + static_shared_bytes <= shared_bytes ? step_memory::shared : step_memory::tiles;
  launch.shared = launch.memory == step_memory::shared ? work : 0;
  return launch;
}

inline step_launch choose_launch(const kernel_layout& layout, unsigned multiprocessors, std::size_t shared_bytes) {
  return layout.type == covariance_type::tied ? choose_tied_launch(layout, shared_bytes)
                                              : choose_step_launch(layout, multiprocessors, shared_bytes);
}

/// Bytes of shared memory with which one block ends a step of tied components; 0 when it should not.
inline std::size_t tied_block_bytes(const kernel_layout& layout, std::size_t shared_bytes) {
  const std::size_t K = layout.components, d = layout.columns;
  const std::size_t bytes = (K + 2 * K * d + component_work(layout.type, layout.columns)) * sizeof(double);
  return bytes + static_shared_bytes <= shared_bytes && K * d * d <= most_tied_products ? bytes : 0;
}

}  // namespace shoal::gmm
