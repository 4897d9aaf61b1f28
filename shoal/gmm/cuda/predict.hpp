// Labels, responsibilities, log-density and score of rows under a mixture, on GPUs.
#pragma once

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/prediction.hpp>

namespace shoal::gmm {

/// Writes what `out` asks for to memory of the host or of a device, for all rows (index 0 is row 0 of the data), by the
/// rules of predict() in gmm.hpp, and returns Σ w ln p(x) / Σ w. Results leave the GPU a piece at a time. The model
/// must have passed validate_model and have the columns of the rows. Throws numerical_error as prepare() in
/// parameters.hpp does, and interrupted.
template <class Scalar>
double predict_on_device(cuda::device_rows<Scalar>& rows, const model& model, const prediction<Scalar>& out);
extern template double predict_on_device(cuda::device_rows<float>&, const model&, const prediction<float>&);
extern template double predict_on_device(cuda::device_rows<double>&, const model&, const prediction<double>&);

}  // namespace shoal::gmm
