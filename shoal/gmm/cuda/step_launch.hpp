// How the threads that end a step are cut into groups, by the shape of the mixture alone.
#pragma once

#include <algorithm>
#include <cstddef>

#include <shoal/gmm/cuda/maximise.hpp>

namespace shoal::gmm {

/// Without matrices, a warp does a component of so many columns; with them, one of `most_warp_order`.
inline constexpr unsigned most_warp_columns = 256;
inline constexpr unsigned most_warp_order = 16;

/// So many components of a warp each are done by one block, which needs to wait for no other.
inline constexpr unsigned most_warps = 32;
inline constexpr unsigned warps_of_many_blocks = 8;

/// Shared memory that kernels declare themselves.
inline constexpr std::size_t static_shared_bytes = 1024;

struct step_launch {
  bool warps = false;  ///< a warp for each component, else a block
  unsigned blocks = 1;
  unsigned threads = 32;
  std::size_t shared = 0;  ///< bytes of dynamic shared memory; 0: work in global memory
};

/// Doubles that a group needs for a component (prepare_component.cuh says what they hold).
inline std::size_t group_work(const device_layout& layout) {
  const bool matrices = layout.type == covariance_type::full || layout.type == covariance_type::tied;
  const std::size_t d = layout.columns;
  return d + (matrices ? d * ((d + 1) | 1) : 0);
}

/// For full, diag and spherical.
inline step_launch choose_step_launch(const device_layout& layout, unsigned multiprocessors, std::size_t shared_bytes) {
  const unsigned K = layout.components, d = layout.columns;
  const std::size_t work = group_work(layout) * sizeof(double);
  step_launch launch;
  launch.warps = d <= (layout.type == covariance_type::full ? most_warp_order : most_warp_columns);
  if (launch.warps) {
    const unsigned warps = K <= most_warps ? K : warps_of_many_blocks;
    launch.threads = 32 * warps;
    launch.blocks = (K + warps - 1) / warps;
    launch.shared = warps * work;
    return launch;
  }
  launch.blocks = std::min(K, multiprocessors);
  launch.threads = d <= 32 || layout.type != covariance_type::full ? 128 : (d <= 64 ? 512 : 1024);
  launch.shared = work + static_shared_bytes <= shared_bytes ? work : 0;
  return launch;
}

/// For the matrix that tied components share.
inline step_launch choose_tied_launch(const device_layout& layout, std::size_t shared_bytes) {
  const std::size_t work = group_work(layout) * sizeof(double);
  step_launch launch;
  launch.threads = layout.columns <= 16 ? 256 : (layout.columns <= 64 ? 512 : 1024);
  launch.shared = work + static_shared_bytes <= shared_bytes ? work : 0;
  return launch;
}

}  // namespace shoal::gmm
