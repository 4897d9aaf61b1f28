// The maximisation step: the model that the statistics of all rows ask for.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// A component of no more weight has no rows.
inline constexpr double least_weight = 10 * std::numeric_limits<double>::epsilon();

/// Replaces weights, means and covariances of `into` (whose type and sizes must be those of the statistics) by
/// δ = S/W, μ = c + δ, Σ = Q/W − δδᵀ + regularization·I, π = W/ΣW; tied: Σ over all components of W(Q/W − δδᵀ) over
/// ΣW; diag: the diagonal; spherical: its mean. `centres` [K][d] are those of the statistics. All in float64.
///
/// Where a mean has moved by far more than its deviation, Q/W and δδᵀ cancel: maximise_closely() (jump.hpp) sees to it.
///
/// A component with W ≤ 10·2⁻⁵² (least_weight) has no rows: its mean and covariance stay what they were in `into`, and
/// its index is in the returned list. (scikit-learn adds that number to every W instead; the difference is below
/// rounding for every component that has rows.)
std::vector<std::size_t> maximise(const statistics& statistics, std::span<const double> centres, double regularization,
                                  model& into, executor* workers = nullptr);

}  // namespace shoal::gmm
