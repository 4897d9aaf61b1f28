// The distances of all pairs of few rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace shoal {

/// distances[i · count + j] = ‖row i − row j‖², of rows [count][columns], as every kernel of seeding sums it. On the
/// current device.
template <class Scalar, class Work>
void measure_pairs(const Scalar* rows, std::size_t count, std::size_t columns, Work* distances, cudaStream_t stream);

}  // namespace shoal
