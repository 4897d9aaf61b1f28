// The statistics of a mixture whose responsibilities are labels: what a first model is made of.
#pragma once

#include <cstdint>
#include <span>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// Statistics of `layout` about `centres` [K][d] (exact values of Scalar) in which row i belongs to component labels[i]
/// alone. `labels` are the host's, one for each row of the whole data. Sums are float64, in an order that no cut of the
/// rows changes. The log-likelihood stays zero.
template <class Scalar>
statistics labelled_statistics(cuda::device_rows<Scalar>& rows, const statistics_layout& layout,
                               std::span<const double> centres, const std::int32_t* labels);
extern template statistics labelled_statistics(cuda::device_rows<float>&, const statistics_layout&,
                                               std::span<const double>, const std::int32_t*);
extern template statistics labelled_statistics(cuda::device_rows<double>&, const statistics_layout&,
                                               std::span<const double>, const std::int32_t*);

}  // namespace shoal::gmm
