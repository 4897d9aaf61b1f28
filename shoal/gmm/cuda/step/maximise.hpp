// Statistics to the next model and its kernels' parameters without leaving the GPU, and when to stop.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/step/step_arguments.hpp>

namespace shoal::gmm {

/// Doubles of `work` that a shape needs.
std::size_t work_size(const kernel_layout& layout, unsigned multiprocessors, std::size_t shared_bytes);

/// One step's end, by the rules of maximise() in maximise.hpp and prepare() in parameters.hpp: replaces the model and
/// its parameters, writes the step's objective, and sets *prepared.stopped when no further step can or need be done.
/// Does nothing when that is set already. Cholesky factors by Gauss's elimination of (Σ | μ − c), which leaves L⁻¹.
template <class Scalar>
void maximise(const step_arguments<Scalar>& arguments, cudaStream_t stream);
extern template void maximise(const step_arguments<float>&, cudaStream_t);
extern template void maximise(const step_arguments<double>&, cudaStream_t);

/// Makes the model that is in the arguments ready. Statistics are not looked at.
template <class Scalar>
void prepare(const step_arguments<Scalar>& arguments, cudaStream_t stream);
extern template void prepare(const step_arguments<float>&, cudaStream_t);
extern template void prepare(const step_arguments<double>&, cudaStream_t);

}  // namespace shoal::gmm
