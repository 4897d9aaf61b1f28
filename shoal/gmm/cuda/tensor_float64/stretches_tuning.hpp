// How the columns of few rows are cut among blocks (half_stretches.hpp). Costs are in steps of a block, 32 columns of
// its rows.
#pragma once

namespace shoal::gmm::tensor_float64 {

/// Stretches at most, and steps of one at least.
inline constexpr unsigned most_stretches = 32, least_stretch_steps = 2;

/// By which (rows, columns, components) are cut into stretches as follows; an iteration takes with 1, 2, 4, 8 and 16 of
/// them, in ms: spherical bf16 (1000, 2048, 2) into 16: 0.097, 0.075, 0.063, 0.054 and 0.051; diag float32 (1000, 768,
/// 2) into 6: 0.069, 0.047, 0.048, 0.042 and 0.055; diag tf32 (10,000, 2048, 2) into 2: 0.138, 0.119, 0.105, 0.124 and
/// 0.170; spherical bf16 (10,000, 768, 33) into 2: 0.088, 0.080, 0.090, 0.109 and 0.195.
/// What a tile of rows costs beside its steps, what it costs that another block's sums are waited for, and what the
/// last one reads of each stretch, for each four numbers of a thread.
inline constexpr double tile_cost = 5, joining_cost = 5, four_cost = 1.0 / 16;

}  // namespace shoal::gmm::tensor_float64
