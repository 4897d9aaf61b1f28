// The statistics of all rows under a mixture, about centres that are not its means, on GPUs.
#pragma once

#include <span>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/step/parts.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// Responsibilities are those of the mixture that `parts` has prepared; sums are float64 whatever the rows' scalar. For
/// the rare step in which a mean jumps (jump.hpp): slower than a step's own sums. The log-likelihood is zero. Waits.
template <class Scalar>
statistics moments_about(cuda::device_rows<Scalar>& rows, const device_parts<Scalar>& parts,
                         std::span<const double> centres);
extern template statistics moments_about(cuda::device_rows<float>&, const device_parts<float>&,
                                         std::span<const double>);
extern template statistics moments_about(cuda::device_rows<double>&, const device_parts<double>&,
                                         std::span<const double>);

}  // namespace shoal::gmm
