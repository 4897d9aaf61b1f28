// Means that have moved farther in one step than sums about their old places can tell, and what is done about it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/jump_rule.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/parameters.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// The first mean that has jumped (jump_rule.hpp).
struct jump {
  std::size_t component = 0;  ///< the greatest share of all, for tied
  std::size_t column = 0;     ///< the farthest, for spherical
  double distance = 0;        ///< |δ| of that column
};

/// None where the covariances of `made`, which maximise() has made of these sums about `centres` [K][d], are good. With
/// E the errors of Σ, |Eᵢⱼ| ≤ ε |δᵢ δⱼ|, those of L⁻¹ E L⁻ᵀ, Σ = LLᵀ, are at most ε w wᵀ, w = |L⁻¹| |δ|: a covariance
/// is good while w² is below the limit. It is factorised only where δδᵀ has the size for that.
std::optional<jump> find_jump(const statistics& sums, std::span<const double> centres, double regularization,
                              const model& made, const jump_limit& limit);

/// "component 3 moved by 1.4e+04 in column 0 in one step, farther than …": why sums of such rows are refused where
/// nobody can make them again.
std::string describe(const jump& found, std::size_t scalar_bytes);

/// The sums that maximise() is given, made again about other centres: of the same rows, with the same responsibilities.
template <class Scalar>
using sums_about = std::function<const statistics&(const parameters<Scalar>& centres)>;

/// maximise(), and where a mean has jumped, again with sums about the new means. `into` is a copy of the model that the
/// sums are of. Mostly no pass is needed, for a jump one; a second one where the first left digits of the mean unknown.
template <class Scalar>
std::vector<std::size_t> maximise_closely(const statistics& sums, std::span<const double> centres,
                                          double regularization, model& into, executor* workers,
                                          const sums_about<Scalar>& again);
extern template std::vector<std::size_t> maximise_closely(const statistics&, std::span<const double>, double, model&,
                                                          executor*, const sums_about<float>&);
extern template std::vector<std::size_t> maximise_closely(const statistics&, std::span<const double>, double, model&,
                                                          executor*, const sums_about<double>&);

}  // namespace shoal::gmm
