// Greedy k-means++ in one launch, among rows so few that a GPU has all of them at work at once.
#pragma once

#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/device_piece.hpp>

namespace shoal {

/// As seeding_passes::choose_greedily(), with distances in Work, among rows of `device`; empty where there are too many
/// of them, or of their columns or trials. Weights that are not null count in place of the piece's. `summary`: of the
/// rows, for those in bytes; null: none.
template <class Scalar, class Work>
plus_plus_result choose_among_few(const cuda::gpu& device, const cuda::device_piece<Scalar>& rows,
                                  const double* weights, const data_summary* summary, std::size_t columns,
                                  const greedy_draws& draws, const seeding_report& report);
extern template plus_plus_result choose_among_few<float, float>(const cuda::gpu&, const cuda::device_piece<float>&,
                                                                const double*, const data_summary*, std::size_t,
                                                                const greedy_draws&, const seeding_report&);
extern template plus_plus_result choose_among_few<float, double>(const cuda::gpu&, const cuda::device_piece<float>&,
                                                                 const double*, const data_summary*, std::size_t,
                                                                 const greedy_draws&, const seeding_report&);
extern template plus_plus_result choose_among_few<double, double>(const cuda::gpu&, const cuda::device_piece<double>&,
                                                                  const double*, const data_summary*, std::size_t,
                                                                  const greedy_draws&, const seeding_report&);

}  // namespace shoal
