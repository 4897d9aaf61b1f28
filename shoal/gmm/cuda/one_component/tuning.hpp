// From which shapes on one component's sums are learnt.
#pragma once

#include <cstddef>

namespace shoal::gmm::one_component {

/// Sums of all products of columns in float64 lie in memory several times.
inline constexpr std::size_t most_columns = 2048;

/// Fewer products of columns in all rows take no longer than the two launches that their sums are found with.
inline constexpr double least_products = 1e6;

}  // namespace shoal::gmm::one_component
