// Steps of greedy k-means++ among rows that were drawn ahead.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/estimation/cuda/ahead_rows.hpp>

namespace shoal {

/// Of a block beside what it is given, at most.
inline constexpr std::size_t own_step_bytes = std::size_t{18} << 10;

/// Blocks that go through steps together, for so many rows, on the current device, each with so much shared memory.
template <class Scalar, class Work>
unsigned ahead_shares(std::size_t rows, std::size_t bytes);

/// As many steps as the drawn rows are enough for.
template <class Scalar, class Work>
void step_ahead(const ahead_rows<Scalar, Work>& of, cudaStream_t stream);

}  // namespace shoal
