// The kernels for wide rows, in the order in which they run; what follows is the room's of float64.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/tensor_wide/layout.hpp>

namespace shoal::gmm::tensor_wide {

/// Scales the mixture and splits it into float16 terms. Run whenever the parameters change.
void pack_mixture(const problem& mixture, cudaStream_t stream);

/// ln πₖ N(x; μₖ, Σₖ) − log_shift of a chunk's rows under all components, in float64 where float32 is too coarse.
void densities(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream);

/// The same where the components are near each other, of mixtures that have a frame: as float16's first terms are.
void framed_densities(const problem& mixture, const row_chunk& chunk, const row_terms& terms, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
