// The rounds of k-means‖ on one GPU that holds all rows, without the host between them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <shoal/estimation/cuda/candidates.hpp>
#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_piece.hpp>

namespace shoal {

/// What rounds have kept, in the device's memory, and what each weighs.
template <class Work>
struct chosen_in_rounds {
  std::shared_ptr<const device_candidates<Work>> rows;
  std::vector<double> weights;
};

/// As seeding_passes::choose_in_rounds(), with distances in Work, among the rows of `device`, in a unit for each block
/// of rows, whose weights there add up to `total_weight`; none where there is too little memory, or a round keeps more
/// rows than can be.
template <class Scalar, class Work>
std::optional<chosen_in_rounds<Work>> choose_rounds_on_device(const cuda::gpu& device,
                                                              const cuda::device_piece<Scalar>& rows,
                                                              const data_summary& summary, double total_weight,
                                                              const round_draws& draws);
extern template std::optional<chosen_in_rounds<float>> choose_rounds_on_device<float, float>(
    const cuda::gpu&, const cuda::device_piece<float>&, const data_summary&, double, const round_draws&);
extern template std::optional<chosen_in_rounds<double>> choose_rounds_on_device<float, double>(
    const cuda::gpu&, const cuda::device_piece<float>&, const data_summary&, double, const round_draws&);
extern template std::optional<chosen_in_rounds<double>> choose_rounds_on_device<double, double>(
    const cuda::gpu&, const cuda::device_piece<double>&, const data_summary&, double, const round_draws&);

}  // namespace shoal
