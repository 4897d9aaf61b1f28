// The kernels for diagonal and spherical mixtures in a frame. They do nothing when components are apart, or
// when squares about the origin would leave float64's range.
#pragma once

#include <cuda_runtime_api.h>

#include <shoal/gmm/cuda/tensor_float64/frame.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_float64 {

/// Finds the origin and writes the operands. Run whenever the parameters change.
void pack_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                const component_frame& frame, const int* stopped, cudaStream_t stream);

/// As launch_densities(), and, of at most most_block_components components, as both it and launch_responsibilities();
/// responsibilities then lie at terms.values as Scalars, with the same stride. Rows that are read once are summed too.
template <class Scalar>
void densities_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                        const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream);
template <class Scalar>
void responsibilities_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk,
                               const component_frame& frame, const prepared_parameters<Scalar>& parameters,
                               const row_terms& terms, const lane_plan& plan, cudaStream_t stream);

/// As launch_responsibilities(), of score tiles that products of float16 terms have left, for float32 rows.
template <class Scalar>
void far_responsibilities(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                          const prepared_parameters<Scalar>& parameters, const row_terms& terms, cudaStream_t stream);

/// As launch_moments(), but of z, after one of those; of most_block_components at most, after the second.
template <class Scalar>
void moments_in_frame(const kernel_layout& layout, const row_chunk<Scalar>& chunk, const component_frame& frame,
                      const prepared_parameters<Scalar>& parameters, const row_terms& terms, const lane_plan& plan,
                      cudaStream_t stream);

/// Blocks of moments_in_frame() to a lane.
template <class Scalar>
std::size_t frame_moment_blocks(const kernel_layout& layout);
/// Such blocks of a multiprocessor.
template <class Scalar>
std::size_t frame_moment_places(const kernel_layout& layout);

/// Moves the sums of all lanes from the origin to the components' centres. Of a spherical component only the sum of Q
/// means something; its columns' variances are made equal.
void leave_frame(const kernel_layout& layout, const prepared_components<double>& parameters,
                 const component_frame& frame, double* statistics, const int* stopped, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_float64
