// Sizes of the kernels that have rows in shared memory once, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_diagonal {

/// Components that there are kernels for, at most.
inline constexpr std::size_t most_staged_components = 256;

/// What ending a group costs, in rows, and what a number of a lane does, which is written and read again when lanes are
/// added up. Half of the lanes took (10⁴, 64, 100) from 157 to 79 of 107 KB each.
inline constexpr double staged_flush_cost_rows = 128, staged_lane_cost_rows = 1.4e-4;

/// Where they are faster than the other rooms' kernels.
constexpr bool is_staged_faster(std::size_t rows, std::size_t columns, std::size_t components) {
  return columns >= 17 && components >= 17 && rows >= 100'000;
}

}  // namespace shoal::gmm::tensor_diagonal
