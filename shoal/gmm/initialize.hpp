// First models: from seeds with the data's own spread, from k-means, or from random responsibilities.
#pragma once

#include <cstdint>

#include <shoal/estimation/data_check.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/gmm.hpp>

namespace shoal::gmm {

/// model. A model with these means, uniform weights, and the summary's per-column variance + regularization in every
/// component (spherical: their mean over the columns).
model pooled_model(covariance_type type, std::vector<double> means, const data_summary& summary, double regularization);

/// The first model of restart `restart` by `options.init`. Draws depend on options.seed and restart alone.
/// Throws numerical_error when the first covariances of `kmeans` or `random_responsibilities` cannot be factorised.
template <class Scalar>
model initial_model(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                    const options& options, std::size_t restart);
extern template model initial_model(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                    const options&, std::size_t);
extern template model initial_model(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                    const options&, std::size_t);

}  // namespace shoal::gmm
