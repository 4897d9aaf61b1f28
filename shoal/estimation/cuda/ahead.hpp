// The steps of greedy k-means++ that draw ahead (draws_ahead.hpp), on one GPU that holds all rows.
#pragma once

#include <algorithm>
#include <cstddef>

#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_group.hpp>
#include <shoal/execution/cuda/device_piece.hpp>

namespace shoal {

/// The draws of the steps before them.
inline greedy_draws steps_before_ahead(greedy_draws draws) {
  draws.clusters = std::min(draws.clusters, first_step_ahead);
  return draws;
}

/// Goes on after `chosen` to the last step, or until the rows run out, among rows of `device`; false where there is no
/// room, or a step has too many trials. Weights that are not null count in place of the piece's. `summary`: of these
/// rows, or of others among which they are.
template <class Scalar, class Work>
bool choose_ahead(const cuda::gpu& device, const cuda::device_piece<Scalar>& rows, const double* weights,
                  const data_summary& summary, std::size_t columns, const greedy_draws& draws, plus_plus_result& chosen,
                  const seeding_report& report);
extern template bool choose_ahead<float, float>(const cuda::gpu&, const cuda::device_piece<float>&, const double*,
                                                const data_summary&, std::size_t, const greedy_draws&,
                                                plus_plus_result&, const seeding_report&);
extern template bool choose_ahead<float, double>(const cuda::gpu&, const cuda::device_piece<float>&, const double*,
                                                 const data_summary&, std::size_t, const greedy_draws&,
                                                 plus_plus_result&, const seeding_report&);
extern template bool choose_ahead<double, double>(const cuda::gpu&, const cuda::device_piece<double>&, const double*,
                                                  const data_summary&, std::size_t, const greedy_draws&,
                                                  plus_plus_result&, const seeding_report&);

}  // namespace shoal
