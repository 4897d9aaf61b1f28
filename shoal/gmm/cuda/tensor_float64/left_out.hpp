// The few components that a frame leaves out, so that products of float16 terms hold all others: those that are too
// narrow beside their distance from its origin, as where a component has one row alone. Their log-densities and moments
// are found in float64, one component after the other.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_float64 {

/// Writes the terms of a chunk's rows under them, before those of all components are joined.
void left_out_densities(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                        const prepared_parameters<float>& parameters, cudaStream_t stream);

/// Sums a chunk's rows under them, once it is known what rows are far: these are summed with all components.
void left_out_moments(const kernel_layout& layout, const row_chunk<float>& chunk, const component_frame& frame,
                      const prepared_parameters<float>& parameters, cudaStream_t stream);

/// Adds their sums to those of the lanes, still about the frame's origin.
void add_left_out(const kernel_layout& layout, const component_frame& frame, double* statistics, const int* stopped,
                  cudaStream_t stream);

}  // namespace shoal::gmm::tensor_float64
