// The kernels for many columns, in the order in which they run.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/large_layout.hpp>

namespace shoal::gmm::large {

/// Scales the mixture and splits it into float16 terms. Run whenever the parameters change.
void pack_mixture(const problem& mixture, cudaStream_t stream);

/// Fills terms, shifts, far_masks and word_sums of a chunk.
void expectation(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Adds the second and first moments and the weights of a chunk to the lanes: a component to a warp up to 64 columns,
/// to a team of four warps beyond.
void moments_warp(const problem& mixture, const chunk& rows, cudaStream_t stream);
void moments_team(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// How the moments' blocks fill a multiprocessor.
struct moments_plan {
  std::size_t shared_bytes = 0;
  int block_components = 0;
  int blocks = 0;
};
inline constexpr std::size_t multiprocessor_bytes = 227 << 10;
moments_plan plan_moments_warp(int groups, int components);
moments_plan plan_moments_team(int groups, int components);

/// Does the far rows of a chunk in float64: their likelihood to word_sums, their moments to the lanes.
void far_rows(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Adds word_sums of a chunk to the lanes of the log-likelihood.
void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Where merged sums go: statistics_layout in numbers.
struct merged_layout {
  std::size_t header = 0;
  std::size_t component_size = 0;
  std::size_t shared = 0;
};
/// Sums the lanes and takes the scales out.
void merge_lanes(const problem& mixture, const merged_layout& layout, double* statistics, cudaStream_t stream);

}  // namespace shoal::gmm::large
