// The covariance of rows on GPUs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal::som {

/// Σ w(x − m)(x − m)ᵀ / Σ w about the mean m of `summary`, [columns][columns], in float64. The same bits for resident
/// and for streamed rows, and for any number of GPUs. Throws out_of_memory.
template <class Scalar>
std::vector<double> covariance_on_devices(cuda::device_rows<Scalar>& rows, const data_summary& summary);
extern template std::vector<double> covariance_on_devices(cuda::device_rows<float>&, const data_summary&);
extern template std::vector<double> covariance_on_devices(cuda::device_rows<double>&, const data_summary&);

/// Lanes that a shard's rows are summed in: lane l takes the piece units of so many rows l, l + lanes, ….
std::size_t scatter_lanes(std::size_t columns);

/// Adds the piece's rows to the lanes [scatter_lanes()][columns][columns], whose lower triangles in tiles are whole.
template <class Scalar>
void add_scatter(const cuda::device_piece<Scalar>& piece, std::size_t columns, const double* mean, double* lanes,
                 cudaStream_t stream);

/// scatter[columns][columns] = Σ lanes, in their order.
void merge_scatter(const double* lanes, std::size_t columns, double* scatter, cudaStream_t stream);

}  // namespace shoal::som
