// Greedy k-means++ on one GPU that holds all rows, without the host between its steps.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/estimation/data_summary.hpp>
#include <shoal/estimation/seed_draw.hpp>
#include <shoal/estimation/seeding_passes.hpp>
#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal {

/// As seeding_passes::choose_greedily(), with distances in Work; empty where it cannot be done so: with rows that are
/// streamed or on several GPUs, too many of them, or too little memory left for a copy of the rows in bytes.
template <class Scalar, class Work>
std::vector<std::size_t> choose_greedily_on_device(cuda::device_rows<Scalar>& rows, const data_summary& summary,
                                                   const row_units& units, const greedy_draws& draws,
                                                   const seeding_report& report);
extern template std::vector<std::size_t> choose_greedily_on_device<float, float>(cuda::device_rows<float>&,
                                                                                 const data_summary&, const row_units&,
                                                                                 const greedy_draws&,
                                                                                 const seeding_report&);
extern template std::vector<std::size_t> choose_greedily_on_device<float, double>(cuda::device_rows<float>&,
                                                                                  const data_summary&, const row_units&,
                                                                                  const greedy_draws&,
                                                                                  const seeding_report&);
extern template std::vector<std::size_t> choose_greedily_on_device<double, double>(
    cuda::device_rows<double>&, const data_summary&, const row_units&, const greedy_draws&, const seeding_report&);

}  // namespace shoal
