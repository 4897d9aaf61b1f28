// The end of a step of tied components of many columns, by several blocks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

/// What one block would do with `shared` bytes, with the same bits, by a cluster of blocks with as many each. False,
/// and nothing, where a GPU has no room for one.
template <class Scalar>
bool maximise_together(const step_arguments<Scalar>& arguments, unsigned threads, std::size_t shared,
                       cudaStream_t stream);
extern template bool maximise_together(const step_arguments<float>&, unsigned, std::size_t, cudaStream_t);
extern template bool maximise_together(const step_arguments<double>&, unsigned, std::size_t, cudaStream_t);

}  // namespace shoal::gmm
