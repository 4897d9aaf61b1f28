// Mixtures of one component with a matrix: what an iteration sums is known from one pass over the rows.
#pragma once

#include <cstddef>
#include <memory>

#include <shoal/gmm/cuda/learning_accumulator.hpp>

namespace shoal::gmm::one_component {

/// Whether make_accumulator takes a shape and is faster than others.
bool suits(const accumulator_shape& shape);

/// For rows of `shards` shards of this GPU that are summed again and again. One component has all of every row, so that
/// statistics about any centre, and the log-likelihood under any covariances, follow from Σ z and Σ z zᵀ. Rows that
/// were not learnt are left to `other`, which takes the shape too. Throws bad_argument for a shape that does not suit,
/// whether it is faster or not.
template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_accumulator(const accumulator_shape& shape, std::size_t shards,
                                                               std::unique_ptr<accumulator<Scalar>> other);
extern template std::unique_ptr<learning_accumulator<float>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                              std::unique_ptr<accumulator<float>>);
extern template std::unique_ptr<learning_accumulator<double>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                               std::unique_ptr<accumulator<double>>);

}  // namespace shoal::gmm::one_component
