// One step of online training: the best-matching unit of one row, and the units on their way to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/som/metric.hpp>

namespace shoal::som {

/// Units in one vector at most; turned codebooks are padded to a multiple of it.
inline constexpr std::size_t turned_unit = 8;

/// A codebook with its units side by side: column j of unit u at values[j · stride + u].
struct turned_codebook {
  double* values = nullptr;
  std::size_t units = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;
};

struct matched_unit {
  std::size_t unit = 0;
  double distance = 0;  ///< in the metric
};

/// The unit nearest to `row` [columns] in float64, the lowest index on ties.
matched_unit find_unit(metric metric, const turned_codebook& codebook, const double* row);

/// w += pulls[u]·(row − w) for the units [first, end); pulls has stride elements.
void pull_units(const turned_codebook& codebook, const double* row, const double* pulls, std::size_t first,
                std::size_t end);

}  // namespace shoal::som
