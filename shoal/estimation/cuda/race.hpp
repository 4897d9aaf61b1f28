// An exponential race among the rows of one GPU, decided there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/execution/cuda/device_piece.hpp>

namespace shoal {

/// How a race went until some time.
struct device_race {
  std::vector<std::size_t> first;  ///< the winners in order; none where there are too few or too many arrivals
  std::size_t arrived = 0;
  bool decided = true;  ///< false: there is no room, or another logarithm than the GPU's might turn two winners round
};

/// The first `winners` rows to arrive, in order, by the arrivals until `latest`: seeding_passes::race().
template <class Scalar>
device_race race_on_device(const cuda::device_piece<Scalar>& piece, std::size_t winners, double latest,
                           std::uint64_t seed, std::uint64_t random_stream, cudaStream_t stream);

}  // namespace shoal
