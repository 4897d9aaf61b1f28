// The rows that a mixture explains worst, found on GPUs.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>

namespace shoal::gmm {

/// worst_rows() of worst_rows.hpp under the model that `parts` has prepared. The GPUs measure the rows, and the host
/// ranks them a part at a time.
template <class Scalar>
std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<Scalar>& rows, device_parts<Scalar>& parts,
                                                       const statistics_layout& layout, std::size_t count);
extern template std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<float>&, device_parts<float>&,
                                                                       const statistics_layout&, std::size_t);
extern template std::vector<std::vector<double>> worst_rows_on_devices(cuda::device_rows<double>&,
                                                                       device_parts<double>&, const statistics_layout&,
                                                                       std::size_t);

}  // namespace shoal::gmm
