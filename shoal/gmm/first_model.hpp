// First models: from seeds with the data's own spread, from k-means, or from random responsibilities.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <shoal/core/progress.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/gmm/covariance_type.hpp>
#include <shoal/gmm/model.hpp>
#include <shoal/gmm/options.hpp>
#include <shoal/gmm/statistics.hpp>
#include <shoal/kmeans/options.hpp>

namespace shoal::gmm {

/// model. A model with these means, uniform weights, and the summary's per-column variance + regularization in every
/// component (spherical: their mean over the columns).
model pooled_model(covariance_type type, std::vector<double> means, const data_summary& summary, double regularization);

/// What a first model leaves to the executor that holds the rows. An empty member is the host's part.
struct first_model_steps {
  make_passes seeding;
  /// Centroids [K][d] of a k-means fit.
  std::function<std::vector<double>(const kmeans::options& options)> cluster;
  /// Statistics about `centres` [K][d] in which every row belongs to the nearest of the centroids alone.
  std::function<statistics(const statistics_layout& layout, std::span<const double> centres,
                           const std::vector<double>& centroids)>
      labelled;
  /// Statistics about `centres` [K][d] in which row i has the uniforms of random::stream(seed, id, i · ⌈K / 2⌉), over
  /// their sum, as responsibilities.
  std::function<statistics(const statistics_layout& layout, std::span<const double> centres, std::uint64_t seed,
                           std::uint64_t id)>
      random;
};

/// How a fit of k-means that a first model begins with reports and stops: its steps are those of a seeding.
control while_seeding(const fold_context& context, const data_summary& summary, std::size_t clusters);

/// The first model of restart `restart` by `options.init`. Draws depend on options.seed and restart alone.
/// Throws numerical_error when the first covariances of `kmeans` or `random_responsibilities` cannot be factorised.
template <class Scalar>
model initial_model(const fold_context& context, const weighted_rows<Scalar>& data, const data_summary& summary,
                    const options& options, std::size_t restart, const first_model_steps& on = {});
extern template model initial_model(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                    const options&, std::size_t, const first_model_steps&);
extern template model initial_model(const fold_context&, const weighted_rows<double>&, const data_summary&,
                                    const options&, std::size_t, const first_model_steps&);

}  // namespace shoal::gmm
