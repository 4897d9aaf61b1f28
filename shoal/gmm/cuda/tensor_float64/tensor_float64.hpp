// Any number of columns, by float64 tensor cores: float64 rows, and float32 rows too wide for the other rooms.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::tensor_float64 {

/// Any number of columns; of few, tiles are padding for the most part.
bool suits(const accumulator_shape& shape);
/// Whether float32 rows of the shape are read once, in a frame that all components share.
bool reads_rows_once(const accumulator_shape& shape);
template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
extern template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

bool suits(const predictor_shape& shape);
template <class Scalar>
std::unique_ptr<predictor<Scalar>> make_predictor(const predictor_shape& shape, cudaStream_t stream);
extern template std::unique_ptr<predictor<float>> make_predictor(const predictor_shape&, cudaStream_t);
extern template std::unique_ptr<predictor<double>> make_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm::tensor_float64
