// The moments of wide rows, after their responsibilities.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_wide {

/// The lanes of a shape. They depend on it alone, for the bits do.
tensor_float64::lane_plan plan_lanes(const accumulator_shape& shape, const kernel_layout& layout);

/// Adds a chunk's moments under its responsibilities to the lanes.
void moments(const kernel_layout& layout, const tensor_float64::row_chunk<float>& chunk,
             const prepared_parameters<float>& parameters, const tensor_float64::row_terms& terms,
             const tensor_float64::lane_plan& plan, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
