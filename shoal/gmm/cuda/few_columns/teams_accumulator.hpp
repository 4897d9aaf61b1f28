// The accumulator for few columns and many rows.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>

namespace shoal::gmm {

/// Whether make_team_accumulator takes a shape: at most most_small_columns columns, and so few components that two
/// stages of rows with their responsibilities fit into a block's shared memory.
bool fits_team_accumulator(const accumulator_shape& shape);

/// Whether it is the fastest for a shape that fits: when there are rows enough for both teams of every block.
bool takes_team_accumulator(const accumulator_shape& shape);

/// In each block one team of warps computes responsibilities while another sums the moments of the rows before.
/// Throws bad_argument for a shape that does not fit. Of the Q of spherical covariances only the sum over the columns
/// is right.
std::unique_ptr<device_accumulator<float>> make_team_accumulator(const accumulator_shape& shape);

}  // namespace shoal::gmm
