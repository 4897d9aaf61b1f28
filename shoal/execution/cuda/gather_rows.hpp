// Rows that lie on a device, in whatever layout, brought together where they are needed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/core/device_matrix_view.hpp>

namespace shoal::cuda {

/// Writes the rows to `to` on the current device, row-major without gaps, in the order of `stream`. Rows of another
/// device that are not contiguous are first brought together there, which the host waits for.
template <class Scalar>
void gather_rows(const device_matrix_view<const Scalar>& rows, Scalar* to, cudaStream_t stream);
extern template void gather_rows(const device_matrix_view<const float>&, float*, cudaStream_t);
extern template void gather_rows(const device_matrix_view<const double>&, double*, cudaStream_t);

/// The same on the device that holds the rows, whatever their strides.
template <class Scalar>
void gather_strided(const device_matrix_view<const Scalar>& rows, Scalar* to, cudaStream_t stream);
extern template void gather_strided(const device_matrix_view<const float>&, float*, cudaStream_t);
extern template void gather_strided(const device_matrix_view<const double>&, double*, cudaStream_t);

}  // namespace shoal::cuda
