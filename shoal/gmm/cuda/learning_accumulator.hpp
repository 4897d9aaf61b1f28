// Accumulators of rows that are summed again and again, which learn what depends on the rows alone.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/accumulator.hpp>

namespace shoal::gmm {

/// Not a shard that was learnt.
inline constexpr std::size_t other_rows = static_cast<std::size_t>(-1);

template <class Scalar>
class learning_accumulator : public accumulator<Scalar> {
 public:
  /// Learns a piece of this GPU's shard number `shard`; its pieces come as for add(), and all of them.
  virtual void learn(std::size_t shard, const cuda::device_piece<Scalar>& piece, cudaStream_t stream) = 0;
  /// Said before clear(): all rows of that shard come next, or others for `other_rows`.
  virtual void expect_shard(std::size_t shard) = 0;
  /// Whether a shard that was learnt has to come for add().
  virtual bool needs_rows() const { return true; }
};

}  // namespace shoal::gmm
