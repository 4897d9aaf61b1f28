// Sizes of the kernels that have rows in shared memory once, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_diagonal {

/// Components that there are kernels for, at most.
inline constexpr std::size_t most_staged_components = 256;

/// What ending a group costs, in rows.
inline constexpr double staged_flush_cost_rows = 128;

/// Where they are faster than the other rooms' kernels.
constexpr bool is_staged_faster(std::size_t rows, std::size_t columns, std::size_t components) {
  return columns >= 17 && components >= 17 && rows >= 100'000;
}

}  // namespace shoal::gmm::tensor_diagonal
