// Diagonal and spherical covariances of many columns or components, by tensor cores.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::tensor_diagonal {

/// Whether make_accumulator takes the shape.
bool suits(const accumulator_shape& shape);

/// Diagonal and spherical covariances of up to 128 columns in float32. Log-densities and moments are products in a
/// frame that all components share, of float32 grade: each factor is the sum of two float16 terms. Asked for tf32 or
/// bf16, it takes one product of the first terms, which have 11 bits. Where components lie wide apart, products only
/// choose those that matter for a row, and these are found in float32; where they are too different for a frame, and on
/// GPUs that are not Hopper's, each row's distance to each component is found by itself. Rows beyond far_norm are done
/// in float64. Throws bad_argument for other shapes.
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape);

/// Whether make_staged_accumulator takes a shape and is faster than others: diagonal covariances without weights, in
/// float32 of 17 to 48 columns and at most 40 components, in eleven bits of 17 to 96 columns and at most 40, to 72
/// columns and 64, to 64 columns and 104, and to 24 columns and 256.
bool suits_staged(const accumulator_shape& shape);

/// Rows are in shared memory once, for log-densities and moments, while all components lie so near to each other that
/// a common frame holds them; else `other` takes the rows. Throws bad_argument for a shape that does not suit.
std::unique_ptr<accumulator<float>> make_staged_accumulator(const accumulator_shape& shape,
                                                            std::unique_ptr<accumulator<float>> other);

/// The same expectation steps in float32's grade, then what they left as labels and probabilities, for the same
/// covariances. Throws bad_argument for other shapes.
bool suits(const predictor_shape& shape);
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_diagonal
