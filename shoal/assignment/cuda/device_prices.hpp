// The prices of an auction, found on a GPU.
#pragma once

#include <cstddef>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal::assignment::cuda {

/// How steps fall. The defaults are what was quickest on an NVIDIA H200.
struct auction_schedule {
  double first_step = 0.25;        ///< of the range of the costs
  int halvings = 2;                ///< of the step from one phase to the next
  double last_step = 0x1p-24;      ///< of the range of the costs, unless all are whole: then below 1 / n
  double left_over = 1.0 / 1024;   ///< share of the rows that a phase before the last may leave waiting
  std::size_t bids_per_row = 512;  ///< in all phases; infeasible costs would be bid for without an end
};

/// What an auction took, for measurements.
struct auction_work {
  double upload_seconds = 0;
  double seconds = 0;
  unsigned long long bids = 0;
  unsigned long long rounds = 0;
  std::size_t phases = 0;
  std::size_t waiting = 0;  ///< rows without a column when it ended
};

/// Column potentials near the best, for costs [n][n], on the first device of the choice. They are the same for
/// any such device. Throws wrong_cost where one is not-a-number or larger than `most` in size without being +∞ (of some
/// row, which the host must look for), out_of_memory when the device cannot hold the costs, not_built in a build
/// without CUDA.
std::vector<double> device_prices(matrix_view<const double> costs, const device_choice& device, double most,
                                  const auction_schedule& schedule = {}, auction_work* work = nullptr);

}  // namespace shoal::assignment::cuda
