// The distance of every row on GPUs to every unit.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/som/metric.hpp>
#include <shoal/som/model.hpp>

namespace shoal::som {

/// distances() of som.hpp, to the bit. `distances` is memory of the host or of any CUDA device, and has been written
/// when this returns.
template <class Scalar>
void distances_on_device(cuda::device_rows<Scalar>& rows, const model& model, Scalar* distances);
extern template void distances_on_device(cuda::device_rows<float>&, const model&, float*);
extern template void distances_on_device(cuda::device_rows<double>&, const model&, double*);

/// Contiguous rows on the current GPU, and units in float64: for the cosine of length 1, or zero.
template <class Scalar>
struct measured_rows {
  const Scalar* rows = nullptr;  ///< [count][columns]
  std::size_t count = 0;
  std::size_t columns = 0;
  const double* units = nullptr;  ///< [unit_count][columns]
  std::size_t unit_count = 0;
  double* lengths = nullptr;  ///< [count] for the cosine: takes the rows' lengths
};

/// Writes distances[count][unit_count].
template <class Scalar>
void measure_distances(const measured_rows<Scalar>& all, metric metric, Scalar* distances, cudaStream_t stream);
extern template void measure_distances(const measured_rows<float>&, metric, float*, cudaStream_t);
extern template void measure_distances(const measured_rows<double>&, metric, double*, cudaStream_t);

}  // namespace shoal::som
