// Steps of greedy k-means++ among rows that were drawn ahead.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/estimation/cuda/ahead_rows.hpp>

namespace shoal {

/// Blocks that go through steps together, for so many rows, on the current device.
template <class Scalar, class Work>
unsigned ahead_shares(std::size_t rows);

/// As many steps as the drawn rows are enough for.
template <class Scalar, class Work>
void step_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream);

}  // namespace shoal
