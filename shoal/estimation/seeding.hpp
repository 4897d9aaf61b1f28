// First centroids, chosen from the rows by folds: nothing grows with rows × clusters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding_request.hpp>
#include <shoal/execution/fold.hpp>

namespace shoal {

class seeding_passes;

/// Makes fresh passes over the rows on the executor that holds them.
using make_passes = std::function<std::unique_ptr<seeding_passes>()>;

/// All three return [clusters][columns] in float64, never choose a row of weight zero, and still return `clusters`
/// rows, repeating some, when there are fewer rows of positive weight or fewer distinct rows than that. Passes over the
/// rows are those of `passes`, or on the host when that is empty. They throw interrupted when asked to stop, and what
/// reading the rows throws.

/// Distinct rows, drawn one after another in proportion to their weights: the K first in an exponential race
/// (Efraimidis & Spirakis 2006).
template <class Scalar>
std::vector<double> seed_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                     const data_summary& summary, const seeding_request& request,
                                     const make_passes& passes = {});

/// The same rows, where the executor holds them: on a GPU when all are on one (seeding_passes::keep_rows()).
template <class Scalar>
std::unique_ptr<row_source<double>> keep_random_rows(const fold_context& context, const weighted_rows<Scalar>& data,
                                                     const data_summary& summary, const seeding_request& request,
                                                     const make_passes& passes = {});

/// Greedy k-means++ (Arthur & Vassilvitskii 2007, section 6): each step draws request.trials rows in proportion to
/// weight · squared distance to the nearest row chosen so far and keeps the one that leaves the least sum of them.
template <class Scalar>
std::vector<double> seed_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                                   const data_summary& summary, const seeding_request& request,
                                   const make_passes& passes = {});

/// The same rows as their places in the data.
template <class Scalar>
std::vector<std::size_t> choose_plus_plus(const fold_context& context, const weighted_rows<Scalar>& data,
                                          const data_summary& summary, const seeding_request& request,
                                          const make_passes& passes = {});

/// k-means‖ (Bahmani et al. 2012): five rounds that each keep about 2K rows in proportion to weight · squared distance,
/// then greedy k-means++ among the rows kept, weighted by the rows nearest to each.
template <class Scalar>
std::vector<double> seed_parallel(const fold_context& context, const weighted_rows<Scalar>& data,
                                  const data_summary& summary, const seeding_request& request,
                                  const make_passes& passes = {});

extern template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<float>&,
                                                     const data_summary&, const seeding_request&, const make_passes&);
extern template std::vector<double> seed_random_rows(const fold_context&, const weighted_rows<double>&,
                                                     const data_summary&, const seeding_request&, const make_passes&);
extern template std::unique_ptr<row_source<double>> keep_random_rows(const fold_context&, const weighted_rows<float>&,
                                                                     const data_summary&, const seeding_request&,
                                                                     const make_passes&);
extern template std::unique_ptr<row_source<double>> keep_random_rows(const fold_context&, const weighted_rows<double>&,
                                                                     const data_summary&, const seeding_request&,
                                                                     const make_passes&);
extern template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<float>&,
                                                   const data_summary&, const seeding_request&, const make_passes&);
extern template std::vector<double> seed_plus_plus(const fold_context&, const weighted_rows<double>&,
                                                   const data_summary&, const seeding_request&, const make_passes&);
extern template std::vector<std::size_t> choose_plus_plus(const fold_context&, const weighted_rows<float>&,
                                                          const data_summary&, const seeding_request&,
                                                          const make_passes&);
extern template std::vector<std::size_t> choose_plus_plus(const fold_context&, const weighted_rows<double>&,
                                                          const data_summary&, const seeding_request&,
                                                          const make_passes&);
extern template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<float>&, const data_summary&,
                                                  const seeding_request&, const make_passes&);
extern template std::vector<double> seed_parallel(const fold_context&, const weighted_rows<double>&,
                                                  const data_summary&, const seeding_request&, const make_passes&);

}  // namespace shoal
