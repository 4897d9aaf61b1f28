// How short the sections of few rows of matrices are.
#pragma once

#include <cstddef>

namespace shoal::gmm::tensor_float64 {

/// While twice as many blocks leave half of the multiprocessors without one, sections of matrices of more than
/// narrow_columns are halved, down to so many rows (a multiple of score_tile_rows): moments of tied float64 (1000, 129,
/// 2) take 35 µs for 86. Not beyond that: with 157 blocks for 40 those of (10,000, 128, 1) took 59 µs for 53, and their
/// lanes had to be cleared and merged.
inline constexpr std::size_t least_short_section_rows = 64;

}  // namespace shoal::gmm::tensor_float64
