// Costs of the pairs that are allowed, row by row (CSR): all others are forbidden.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal::assignment {

/// Row i has the pairs from starts[i] to starts[i + 1]: columns[k], ascending within a row, at costs[k].
struct sparse_costs {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::span<const std::int64_t> starts;   ///< [rows + 1]
  std::span<const std::int64_t> indices;  ///< [starts[rows]]
  std::span<const double> costs;          ///< [starts[rows]]
};

}  // namespace shoal::assignment
