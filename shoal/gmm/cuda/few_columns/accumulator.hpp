// The accumulator for few columns.
#pragma once

#include <memory>

#include <shoal/gmm/cuda/accumulator.hpp>

namespace shoal::gmm {

/// Whether make_small_accumulator takes a shape: at most most_small_columns columns, and so few components that the
/// responsibilities of 32 rows fit into a block's shared memory.
template <class Scalar>
bool fits_small_accumulator(const accumulator_shape& shape);
extern template bool fits_small_accumulator<float>(const accumulator_shape&);
extern template bool fits_small_accumulator<double>(const accumulator_shape&);

/// Responsibilities in shared memory, moments in registers, specialised for each number of columns. Throws bad_argument
/// for a shape that does not fit.
template <class Scalar>
std::unique_ptr<device_accumulator<Scalar>> make_small_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<device_accumulator<float>> make_small_accumulator(const accumulator_shape&);
extern template std::unique_ptr<device_accumulator<double>> make_small_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm
