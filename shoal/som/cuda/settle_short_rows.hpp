// settle() for float32 rows of few columns whose units search_tensor looked for by the Euclidean metric.
#pragma once

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// A step at 10⁶ rows × 3 columns on 30 × 30 units: README.md of bench/ladder/som.
inline constexpr int most_short_columns = 4;

/// As settle(), for the best-matching units alone: to.shape is null.
void settle_short_rows(const searched_rows<float>& rows, const device_units<float>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
