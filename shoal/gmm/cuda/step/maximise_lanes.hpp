// A step's end for few components and columns, from the lanes of its sums: what merging and maximise() do, in one
// launch.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

/// Whether the current GPU takes a shape: full covariances of few columns, and a cluster of a block for each component.
template <class Scalar>
bool can_maximise_lanes(const kernel_layout& layout);
extern template bool can_maximise_lanes<float>(const kernel_layout&);
extern template bool can_maximise_lanes<double>(const kernel_layout&);

/// Adds the lanes up as accumulator::merge() does, into `statistics`, which `arguments` name too, and ends the step as
/// maximise() does, with the same bits.
template <class Scalar>
void maximise_lanes(const step_arguments<Scalar>& arguments, const lane_array& lanes, double* statistics,
                    cudaStream_t stream);
extern template void maximise_lanes(const step_arguments<float>&, const lane_array&, double*, cudaStream_t);
extern template void maximise_lanes(const step_arguments<double>&, const lane_array&, double*, cudaStream_t);

}  // namespace shoal::gmm
