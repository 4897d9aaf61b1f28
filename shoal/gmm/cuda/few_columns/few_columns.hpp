// Few columns: responsibilities in shared memory, moments in registers, a kernel for each number of columns.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::few_columns {

/// Whether make_accumulator takes a shape: at most most_columns columns, and so few components that the
/// responsibilities of 32 rows fit into a block's shared memory.
template <class Scalar>
bool suits(const accumulator_shape& shape);
extern template bool suits<float>(const accumulator_shape&);
extern template bool suits<double>(const accumulator_shape&);

/// A block computes the responsibilities of some rows, then sums their moments. Throws bad_argument for a shape that
/// does not suit.
template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
extern template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

/// Whether make_team_accumulator takes a shape: at most most_columns columns, and so few components that two stages of
/// rows with their responsibilities fit into a block's shared memory.
bool suits_teams(const accumulator_shape& shape);

/// In each block one team of warps computes responsibilities while another sums the moments of the rows before.
/// Throws bad_argument for a shape that does not suit. Of the Q of spherical covariances only the sum over the columns
/// is right.
std::unique_ptr<accumulator<float>> make_team_accumulator(const accumulator_shape& shape);

/// Diagonal and spherical covariances of few columns, each row's distances found twice in float32.
bool suits(const predictor_shape& shape);
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
