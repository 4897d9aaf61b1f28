// The distance of every row on GPUs to every centroid.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// distances() of kmeans.hpp, to the bit. `distances` is memory of the host or of any CUDA device, and has been written
/// when this returns.
template <class Scalar>
void distances_on_device(cuda::device_rows<Scalar>& rows, const model& model, Scalar* distances);
extern template void distances_on_device(cuda::device_rows<float>&, const model&, float*);
extern template void distances_on_device(cuda::device_rows<double>&, const model&, double*);

/// Writes distances[count][clusters] of contiguous rows on the current GPU to `centroids` [clusters][columns].
template <class Scalar>
void measure_distances(const Scalar* rows, std::size_t count, std::size_t columns, const double* centroids,
                       std::size_t clusters, Scalar* distances, cudaStream_t stream);
extern template void measure_distances(const float*, std::size_t, std::size_t, const double*, std::size_t, float*,
                                       cudaStream_t);
extern template void measure_distances(const double*, std::size_t, std::size_t, const double*, std::size_t, double*,
                                       cudaStream_t);

}  // namespace shoal::kmeans
