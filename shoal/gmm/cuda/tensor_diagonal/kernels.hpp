// The kernels for diagonal and spherical mixtures of many columns, in the order in which they run.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/tensor_diagonal/layout.hpp>
#include <shoal/gmm/cuda/tensor_diagonal/problem.hpp>
#include <shoal/gmm/prediction.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Finds the frame and splits the mixture into float16 terms in it. Run whenever the parameters change; the second once
/// `arrangement` has been cleared.
void pack_mixture(const problem& mixture, cudaStream_t stream);
void pack_cleared_mixture(const problem& mixture, cudaStream_t stream);

/// Fills terms, columns_by_rows, shifts, log_sums, log_densities, norms, exponents, far_masks and tile_sums of a chunk:
/// by tensor cores in the frame, of which the second kernel finds again what matters when the frame is wide, or one by
/// one when there is none, and for tiles that the second kernel leaves to the third.
void expectation(const problem& mixture, const chunk& rows, cudaStream_t stream);
void refine(const problem& mixture, const chunk& rows, cudaStream_t stream);
void expectation_apart(const problem& mixture, const chunk& rows, cudaStream_t stream);
std::size_t expectation_bytes(const problem& mixture);

/// Adds the moments of a chunk's near rows to the lanes; nothing but in a common frame.
void moments(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Without a common frame adds the moments of rows that many components hold, in float32 about each component's own
/// centre. The first chunk of a pass begins the sums.
void dense_moments(const problem& mixture, const chunk& rows, bool begins, cudaStream_t stream);

/// Does the far rows of a chunk in float64: first their likelihood, to tile_sums and log_densities, and their
/// responsibilities, then their moments, or those of all rows that
/// dense_moments() has left without a common frame.
void far_responsibilities(const problem& mixture, const chunk& rows, cudaStream_t stream);
void far_moments(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Writes what `out` asks for, once the far rows' responsibilities are found, and Σ w ln p(x) and Σ w of each tile of
/// rows (score_lanes.hpp); its arrays begin with the chunk's first row. Needs log_sums and log_densities.
void write_predictions(const problem& mixture, const chunk& rows, const prediction<float>& out, double* tiles,
                       cudaStream_t stream);

/// Adds tile_sums of a chunk to the lanes of the log-likelihood.
void add_likelihood(const problem& mixture, const chunk& rows, cudaStream_t stream);

/// Sums the lanes, takes the frame out, and writes statistics from `header` on: W, S, Q of each component. Of a
/// spherical component only the sum of Q means something; its columns' variances are made equal.
void merge_lanes(const problem& mixture, std::size_t header, double* statistics, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_diagonal
