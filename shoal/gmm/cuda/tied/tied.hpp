// Tied mixtures as spherical ones that have the same responsibilities, so that no iteration multiplies
// rows with a matrix.
#pragma once

#include <cstddef>
#include <memory>

#include <shoal/gmm/cuda/learning_accumulator.hpp>

namespace shoal::gmm::tied {

/// Whether make_accumulator takes a shape and is faster than others.
template <class Scalar>
bool suits(const accumulator_shape& shape);
extern template bool suits<float>(const accumulator_shape&);
extern template bool suits<double>(const accumulator_shape&);

/// For rows of `shards` shards of this GPU that are summed again and again. Components that lie too far apart, columns
/// that are too closely correlated and rows that were not learnt are left to `other`, which takes the shape too. Throws
/// bad_argument for a shape that does not suit, whether it is faster or not.
template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_accumulator(const accumulator_shape& shape, std::size_t shards,
                                                               std::unique_ptr<accumulator<Scalar>> other);
extern template std::unique_ptr<learning_accumulator<float>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                              std::unique_ptr<accumulator<float>>);
extern template std::unique_ptr<learning_accumulator<double>> make_accumulator(const accumulator_shape&, std::size_t,
                                                                               std::unique_ptr<accumulator<double>>);

/// The same of few rows: no row is multiplied with a matrix, not even in those rows' own pass (linear.hpp).
template <class Scalar>
bool suits_linear(const accumulator_shape& shape);
extern template bool suits_linear<float>(const accumulator_shape&);
extern template bool suits_linear<double>(const accumulator_shape&);
/// Whether the plain kernels, whose launches are the fewest, are quick enough to be the others of such a shape.
bool leaves_to_plain(const accumulator_shape& shape);
template <class Scalar>
std::unique_ptr<learning_accumulator<Scalar>> make_linear_accumulator(const accumulator_shape& shape,
                                                                      std::size_t shards,
                                                                      std::unique_ptr<accumulator<Scalar>> other);
extern template std::unique_ptr<learning_accumulator<float>> make_linear_accumulator(
    const accumulator_shape&, std::size_t, std::unique_ptr<accumulator<float>>);
extern template std::unique_ptr<learning_accumulator<double>> make_linear_accumulator(
    const accumulator_shape&, std::size_t, std::unique_ptr<accumulator<double>>);

}  // namespace shoal::gmm::tied
