// The prices of an auction, found on a GPU, and the assignment that they lead to.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/assignment/auction.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal::assignment::cuda {

/// How steps fall, and when searches take over. The defaults are what was quickest on an NVIDIA H200.
struct auction_schedule {
  double first_step = 0.25;        ///< of the range of the costs
  int halvings = 2;                ///< of the step from one phase to the next
  double last_step = 0x1p-24;      ///< of the range of the costs; of whole ones at least 1
  double left_over = 1.0 / 1024;   ///< share of the rows that a phase may leave waiting
  std::size_t bids_per_row = 512;  ///< in all phases; infeasible costs would be bid for without an end
  std::uint32_t last_rounds = 40;  ///< in which rows bid without a step, before searches begin
};

/// What an auction took, for measurements.
struct auction_work {
  double upload_seconds = 0;
  double seconds = 0;  ///< of it all, without the copy to the device
  double path_seconds = 0;
  unsigned long long bids = 0;
  unsigned long long rounds = 0;
  unsigned long long steps = 0;  ///< rows that searches have looked at
  std::size_t phases = 0;
  std::size_t searches = 0;
};

/// The best prices for costs [n][n], and the assignment, on the first device of the choice: rows bid by falling steps,
/// then without one, and searches for shortest augmenting paths place whoever waits. Both are the same for any such
/// device. Without an assignment (there is none, or the searches would take long or do not fit into the device's shared
/// memory) prices are near the best. Throws wrong_cost where one is not-a-number or larger than `most` in size without
/// being +∞ (of some row, which the host must look for), out_of_memory when the device cannot hold the costs, not_built
/// in a build without CUDA.
prices device_prices(matrix_view<const double> costs, const device_choice& device, double most,
                     const auction_schedule& schedule = {}, auction_work* work = nullptr);

}  // namespace shoal::assignment::cuda
