// What every function that takes a k-means model holds it to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <shoal/kmeans/model.hpp>

namespace shoal::kmeans {

/// Labels are 32-bit.
inline constexpr std::size_t most_clusters = std::numeric_limits<std::int32_t>::max();

/// Throws bad_argument for a model that is not whole or finite, or that has not the data's columns.
void check_model(const model& model, std::size_t columns);

}  // namespace shoal::kmeans
