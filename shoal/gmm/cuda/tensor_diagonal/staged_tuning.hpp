// Sizes of the kernels that have rows in shared memory once, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

#include <shoal/execution/precision.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Components that there are kernels for, at most.
inline constexpr std::size_t most_staged_components = 256;

/// What ending a group costs, in rows, and what a number of a lane does, which is written and read again when lanes are
/// added up: 79 lanes of 107 KB are better than 157 at (10⁴, 64, 100).
inline constexpr double staged_flush_cost_rows = 128, staged_lane_cost_rows = 1.4e-4;

/// Where they are faster than the other rooms' kernels. An iteration of (rows, columns, components) takes with the
/// others and so, of uniform rows, in ms: float32 (10⁶, 17, 5) 0.150 and 0.133, (10⁶, 17, 10) 0.153 and 0.131, (10⁵,
/// 17, 10) 0.046 both, (10⁶, 32, 2) 0.145 and 0.143, (10⁶, 32, 5) 0.153 and 0.141, (10⁶, 32, 10) 0.152 and 0.130, (10⁶,
/// 32, 33) 0.188 and 0.144, (1000, 17, 33) 0.040 and 0.024, (1000, 32, 10) 0.035 and 0.027, (10⁶, 48, 33) 0.276 and
/// 0.219, but (10⁶, 48, 10) 0.194 and 0.216, (10⁶, 48, 16) 0.204 and 0.221, and (10⁵, 48, 10) 0.051 and 0.049; in
/// eleven bits (10⁶, 32, 5) 0.127 and 0.107, (10⁶, 33, 10) 0.133 and 0.136, (10⁶, 48, 10) 0.151 and 0.138, (10⁶, 64,
/// 10) 0.154 and 0.158, (10⁵, 64, 10) 0.052 and 0.044, (10⁶, 64, 33) 0.228 and 0.165, (10⁶, 96, 10) 0.251 and 0.214,
/// (10⁶, 65, 64) 0.646 and 0.201, (1000, 33, 10) 0.033 and 0.026, (1000, 96, 33) 0.043 and 0.030, (10⁵, 17, 256) 0.138
/// and 0.065. Fewer rows and components were not timed: not taken.
constexpr bool is_staged_faster(precision least, std::size_t rows, std::size_t columns, std::size_t components) {
  if (rows < (components > 104 ? 10'000U : 1000U) || columns < 17 || components < 5) return false;
  // Many columns of few components are padding for the most part.
  const bool padded = least == precision::float32 ? columns > 32 : columns > 48 && columns <= 64;
  return !padded || components > 16 || rows <= 100'000;
}

}  // namespace shoal::gmm::tensor_diagonal
