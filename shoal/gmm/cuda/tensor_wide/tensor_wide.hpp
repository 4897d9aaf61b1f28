// Full and tied covariances of float32 rows of any number of columns: log-densities by Hopper's products of float16
// terms, tiles of columns at a time, and moments over the rows that a component holds, by such products where they are
// enough and in float64 elsewhere.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/cuda/predictor.hpp>

namespace shoal::gmm::tensor_wide {

bool suits(const accumulator_shape& shape);
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape& shape);

bool suits(const predictor_shape& shape);
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream);

}  // namespace shoal::gmm::tensor_wide
