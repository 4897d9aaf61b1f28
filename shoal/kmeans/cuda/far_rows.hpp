// The rows farthest from their centroids, found on GPUs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/kmeans/cuda/fold.hpp>
#include <shoal/kmeans/relocate.hpp>

namespace shoal::kmeans {

/// farthest_rows() of relocate.hpp about the centroids that `fold` holds: the same rows, distances with the same bits.
/// The GPUs measure the rows, and the host ranks them a part at a time.
template <class Scalar>
std::vector<far_row> farthest_rows_on_devices(device_fold<Scalar>& fold, std::size_t count);
extern template std::vector<far_row> farthest_rows_on_devices(device_fold<float>&, std::size_t);
extern template std::vector<far_row> farthest_rows_on_devices(device_fold<double>&, std::size_t);

/// distances[i] = ‖x_i − c‖² for the centroid c = labels[i] of [clusters][columns], in float64 from the first column to
/// the last.
template <class Scalar>
void measure_own_distances(const Scalar* rows, const std::int32_t* labels, std::size_t count, std::size_t columns,
                           const double* centroids, double* distances, cudaStream_t stream);
extern template void measure_own_distances(const float*, const std::int32_t*, std::size_t, std::size_t, const double*,
                                           double*, cudaStream_t);
extern template void measure_own_distances(const double*, const std::int32_t*, std::size_t, std::size_t, const double*,
                                           double*, cudaStream_t);

}  // namespace shoal::kmeans
