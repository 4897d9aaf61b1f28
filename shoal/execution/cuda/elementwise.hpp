// Arithmetic on rows of numbers on the device, element by element.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace shoal::cuda {

/// into[i] += parts[0][i] + parts[1][i] + …, in that order, for i < count; parts lie `count` apart.
void add_parts(double* into, const double* parts, std::size_t count, std::size_t others, cudaStream_t stream);

/// values[i] *= factor for i < count.
void scale(float* values, std::size_t count, float factor, cudaStream_t stream);
void scale(double* values, std::size_t count, double factor, cudaStream_t stream);

}  // namespace shoal::cuda
