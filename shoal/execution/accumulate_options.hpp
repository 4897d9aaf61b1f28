// How statistics of some rows are made.
#pragma once

#include <cstddef>

#include <shoal/execution/device_choice.hpp>

namespace shoal {

/// Where some rows lie among all rows of a fit. Lanes are cut from all rows together, so parts that are cut between
/// lanes (see cut_rows of each family) merge to the very bits of one fold; others merge up to rounding.
struct row_part {
  std::size_t first = 0;  ///< index of the first row among all rows
  std::size_t total = 0;  ///< rows of all parts together; 0: these rows are no part of anything, and sums just add up
};

struct accumulate_options {
  std::size_t threads = 0;       ///< 0: default_threads()
  std::size_t memory_limit = 0;  ///< bytes for row buffers of sources that are not resident; 0: no limit
  device_choice device = {};     ///< where the rows are summed; a part of more rows is summed on the host alone
  row_part part = {};
};

}  // namespace shoal
