// The kernels for many columns, in the order in which they run.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/tensor_matrix/layout.hpp>
#include <shoal/gmm/prediction.hpp>

namespace shoal::gmm::tensor_matrix {

/// Scales the mixture and splits it into float16 terms. Run whenever the parameters change.
void pack_mixture(const problem& mixture, cudaStream_t stream);

/// Fills terms, shifts, far_masks and word_sums of a chunk, and log_densities of its near rows.
void expectation(const problem& mixture, const chunk& rows, cudaStream_t stream);
/// Parts that it cuts the components of few rows into, as the shape says: a row's sum of densities is one of parts.
int expectation_parts(const problem& mixture);
/// The shared memory that it takes for so many groups of columns.
std::size_t expectation_bytes(int groups);

/// Adds the second and first moments and the weights of a chunk to the lanes: a component to a warp up to 64 columns,
/// to a team of four warps beyond.
void moments_warp(const problem& mixture, const chunk& rows, cudaStream_t stream);
void moments_team(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// The same for components that lie near each other, about the centre that they share, on GPUs with products by four
/// warps; the two above then do nothing, and it does nothing for others.
void moments_frame(const problem& mixture, const chunk& rows, cudaStream_t stream);
/// Sums its lanes.
void fold_frame_lanes(const problem& mixture, cudaStream_t stream);

/// Expectation and moments at once, by one product, of components that share a frame: where there is a plan for it,
/// the kernels above only do components that are apart.
void one_pass(const problem& mixture, const chunk& rows, cudaStream_t stream);
/// Sums its lanes.
void fold_one_pass(const problem& mixture, cudaStream_t stream);

/// How the moments' blocks fill a multiprocessor.
struct moments_plan {
  std::size_t shared_bytes = 0;
  int block_components = 0;
  int blocks = 0;
};
inline constexpr std::size_t multiprocessor_bytes = 227 << 10;
moments_plan plan_moments_warp(int groups, int components);
moments_plan plan_moments_team(int groups, int components);

/// Does the far rows of a chunk in float64: first their likelihood, to word_sums and log_densities, and their
/// responsibilities, then their moments, to the lanes.
void far_responsibilities(const problem& mixture, const chunk& rows, cudaStream_t stream);
void far_moments(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Writes what `out` asks for, once the far rows' responsibilities are found, and Σ w ln p(x) and Σ w of each tile of
/// rows (score_lanes.hpp); its arrays begin with the chunk's first row.
void write_predictions(const problem& mixture, const chunk& rows, const prediction<float>& out, double* tiles,
                       cudaStream_t stream);

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

}  // namespace shoal::gmm::tensor_matrix
