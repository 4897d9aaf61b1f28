// An accumulator that leaves sums as they were, so that a test sees what was left to others.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/parameters.hpp>

namespace checks {

template <class Scalar>
class nobody final : public shoal::gmm::accumulator<Scalar> {
 public:
  bool keeps_shards_apart() const override { return true; }
  void clear(const shoal::gmm::prepared_parameters<Scalar>&, cudaStream_t) override {}
  void add(const shoal::cuda::device_piece<Scalar>&, const shoal::gmm::prepared_parameters<Scalar>&,
           cudaStream_t) override {}
  void merge(double*, const shoal::gmm::prepared_parameters<Scalar>&, cudaStream_t) override {}
};

}  // namespace checks
