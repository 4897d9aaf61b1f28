// Full and tied covariances of many columns, by tensor cores.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::tensor_matrix {

/// Whether make_accumulator takes the shape.
bool suits(const accumulator_shape& shape);

/// Full and tied covariances of 1 to 128 columns in float32. Products are of float32 grade: each factor is the sum of
/// two float16 terms in units of the column's deviation under the component, three products of which are summed in
/// float32 by tensor cores. Asked for tf32 or bf16, it takes one product of the first terms, which have 11 bits.
/// Moments of many components that lie near each other are summed about one centre, for all components at once, on
/// Hopper's GPUs. Rows beyond far_norm, and all rows of a mixture that float16's range is too narrow for, are done in
/// float64. Throws bad_argument for other shapes.
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape);

/// The same expectation step in float32's grade, then what it left as labels and probabilities: full and tied
/// covariances of up to 128 columns. Throws bad_argument for other shapes.
bool suits(const predictor_shape& shape);
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_matrix
