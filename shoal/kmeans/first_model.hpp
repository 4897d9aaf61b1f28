// Where k-means starts, and the variance that its stop rule measures by.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/seeding.hpp>
#include <shoal/kmeans/options.hpp>

namespace shoal::kmeans {

/// What seeding::automatic means for rows of this shape; what was asked for otherwise. A matter of shapes alone, so the
/// same on every rank and device.
seeding chosen_seeding(const options& options, std::size_t rows);

/// The first centroids [clusters][columns] of a restart, by options.init; passes over the rows are those of `passes`.
template <class Scalar>
std::vector<double> first_centroids(const fold_context& context, const weighted_rows<Scalar>& data,
                                    const data_summary& summary, const options& options, std::size_t restart,
                                    const make_passes& passes = {});
extern template std::vector<double> first_centroids(const fold_context&, const weighted_rows<float>&,
                                                    const data_summary&, const options&, std::size_t,
                                                    const make_passes&);
extern template std::vector<double> first_centroids(const fold_context&, const weighted_rows<double>&,
                                                    const data_summary&, const options&, std::size_t,
                                                    const make_passes&);

/// Mean over the columns of the variance of the rows.
double mean_variance(const data_summary& summary);

}  // namespace shoal::kmeans
