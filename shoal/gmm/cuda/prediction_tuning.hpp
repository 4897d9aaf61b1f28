// Sizes and thresholds of predictions on GPUs, with what was measured for each on an NVIDIA H200.
#pragma once

#include <cstddef>

namespace shoal::gmm {

/// Columns, and numbers of all components' means, up to which predictions of diagonal and spherical mixtures find each
/// row's distances twice and leave tensor cores alone: labels of (2²⁰, 8, 10) take 0.240 ms, and 0.481 by tensor cores,
/// which take as long for any numbers up to 16 columns and 128 components.
inline constexpr int most_small_prediction_columns = 32;
inline constexpr std::size_t most_small_prediction_numbers = 256;

}  // namespace shoal::gmm
