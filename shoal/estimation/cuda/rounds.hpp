// The rounds of k-means‖ on one GPU that holds all rows, without the host between them.
#pragma once

#include <optional>

#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal {

/// As seeding_passes::choose_in_rounds(), with distances in Work, among the rows of `device`, in a unit for each block
/// of rows, whose weights there add up to `total_weight`; none where there is too little memory, or a round keeps more
/// rows than can be.
template <class Scalar, class Work>
std::optional<weighted_points> choose_rounds_on_device(const cuda::gpu& device, const cuda::device_piece<Scalar>& rows,
                                                       const data_summary& summary, double total_weight,
                                                       const round_draws& draws);
extern template std::optional<weighted_points> choose_rounds_on_device<float, float>(const cuda::gpu&,
                                                                                     const cuda::device_piece<float>&,
                                                                                     const data_summary&, double,
                                                                                     const round_draws&);
extern template std::optional<weighted_points> choose_rounds_on_device<float, double>(const cuda::gpu&,
                                                                                      const cuda::device_piece<float>&,
                                                                                      const data_summary&, double,
                                                                                      const round_draws&);
extern template std::optional<weighted_points> choose_rounds_on_device<double, double>(
    const cuda::gpu&, const cuda::device_piece<double>&, const data_summary&, double, const round_draws&);

}  // namespace shoal
