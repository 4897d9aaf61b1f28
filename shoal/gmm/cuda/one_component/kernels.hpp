// The kernels that make one component's statistics of what is known of the rows.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/gmm/cuda/mixture.hpp>
#include <shoal/gmm/cuda/tied/kernels.hpp>

namespace shoal::gmm::one_component {

/// Writes the statistics about the component's centre; `scores` [scores_size()] is room to work.
void leave(const kernel_layout& layout, const prepared_components<double>& in, const tied::learnt_rows& rows,
           double* scores, double* statistics, const int* stopped, cudaStream_t stream);
std::size_t scores_size(const kernel_layout& layout);

}  // namespace shoal::gmm::one_component
