// An exponential race among the rows of one GPU, decided there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal {

/// The first `winners` rows to arrive, in order, by the arrivals until `latest`: seeding_passes::race(). None where
/// these are too few, or where two of them follow each other so closely that another logarithm than the GPU's might
/// turn them round.
template <class Scalar>
std::vector<std::size_t> race_on_device(const cuda::device_piece<Scalar>& piece, std::size_t winners, double latest,
                                        std::uint64_t seed, std::uint64_t random_stream, cudaStream_t stream);

}  // namespace shoal
