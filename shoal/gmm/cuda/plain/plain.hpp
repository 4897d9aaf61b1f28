// Any shape, a thread for each row and sums in float64: slow, and the measure of the other rooms.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::plain {

/// All shapes suit. Throws bad_argument for more columns than a GPU fits.
inline bool suits(const accumulator_shape&) { return true; }
template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
extern template std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

/// In the data's arithmetic.
inline bool suits(const predictor_shape&) { return true; }
template <class Scalar>
std::unique_ptr<predictor<Scalar>> make_predictor(const predictor_shape& shape, cudaStream_t stream);
extern template std::unique_ptr<predictor<float>> make_predictor(const predictor_shape&, cudaStream_t);
extern template std::unique_ptr<predictor<double>> make_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm::plain
