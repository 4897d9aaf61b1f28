// The codebook that training begins with.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding.hpp>
#include <shoal/som/options.hpp>

namespace shoal::som {

/// Σ w(x − m)(x − m)ᵀ / Σ w about the rows' mean m, [columns][columns], on whichever executor holds the rows. Asked for
/// only by initialization::principal_plane.
using find_covariance = std::function<std::vector<double>()>;

/// The covariance of rows that the host can read, about the mean of `summary`.
template <class Scalar>
std::vector<double> covariance_of(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary);
extern template std::vector<double> covariance_of(const fold_context&, const weighted_rows<float>&,
                                                  const data_summary&);
extern template std::vector<double> covariance_of(const fold_context&, const weighted_rows<double>&,
                                                  const data_summary&);

/// [units][columns] by options.init. Rows are sampled through `passes`, on the host when that is empty.
///
/// The principal plane: a unit at (a, b), the least and the greatest coordinate of the map's longer side being a = −1
/// and 1 and those of its shorter side b = −1 and 1 (0 where all are the same), is at m + a·s₁v₁ + b·s₂v₂, where v are
/// the principal components and s² their variances. The element of v of the greatest magnitude (the first of equals)
/// is positive, so that the same data give the same map.
template <class Scalar>
std::vector<double> first_codebook(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const options& options,
                                   const find_covariance& covariance, const make_passes& passes = {});
extern template std::vector<double> first_codebook(const fold_context&, const weighted_rows<float>&,
                                                   const data_summary&, const options&, const find_covariance&,
                                                   const make_passes&);
extern template std::vector<double> first_codebook(const fold_context&, const weighted_rows<double>&,
                                                   const data_summary&, const options&, const find_covariance&,
                                                   const make_passes&);

}  // namespace shoal::som
