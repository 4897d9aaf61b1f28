// Few columns: responsibilities in shared memory, moments in registers, a kernel for each number of columns.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

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

/// How the rows of a shape go through the blocks of make_accumulator, as far as it says what they cost.
struct block_use {
  std::size_t threads;
  std::size_t blocks;            ///< of a multiprocessor
  std::size_t stage_rows;        ///< that a block has at a time
  std::size_t rounds;            ///< that threads take to sum the moments of all components
  std::size_t round_components;  ///< of one of them
  std::size_t slices;            ///< of a stage, each with a thread for a component
  std::size_t flushes;           ///< in which a group's sums are added up
  std::size_t sums;              ///< of a component
};
/// Nothing for a shape that does not suit.
template <class Scalar>
std::optional<block_use> use_of_blocks(const accumulator_shape& shape);
extern template std::optional<block_use> use_of_blocks<float>(const accumulator_shape&);
extern template std::optional<block_use> use_of_blocks<double>(const accumulator_shape&);

/// Whether make_team_accumulator takes a shape: at most most_columns columns, and so few components that two stages of
/// rows with their responsibilities fit into a block's shared memory.
bool suits_teams(const accumulator_shape& shape);

/// How the rows of a shape go through the two teams of make_team_accumulator's blocks.
struct team_use {
  std::size_t expectation_threads;
  std::size_t stage_rows;
  std::size_t slice_rows;  ///< of a stage that one thread sums
  std::size_t sums;        ///< of a component
  std::size_t components;  ///< whose sums a thread has
};
/// Nothing for a shape that does not suit, or that several blocks of a multiprocessor take.
std::optional<team_use> use_of_teams(const accumulator_shape& shape);

/// In each block one team of warps computes responsibilities while another sums the moments of the rows before.
/// Throws bad_argument for a shape that does not suit. Of the Q of spherical covariances only the sum over the columns
/// is right.
std::unique_ptr<accumulator<float>> make_team_accumulator(const accumulator_shape& shape);

/// Whether make_warp_product_accumulator takes a shape and is faster than others: full covariances of 5 to 16 columns,
/// 32 components at most (beyond 12 columns 16), many rows, and no weights.
bool suits_warp_products(const accumulator_shape& shape);

/// Densities and moments as products on tensor cores, whose operands a warp makes in registers, while the components
/// lie so near to each other that sums about a common centre keep their digits; else the kernels above take the rows.
/// Throws bad_argument for a shape that does not suit.
std::unique_ptr<accumulator<float>> make_warp_product_accumulator(const accumulator_shape& shape);

/// Whether make_circle_accumulator takes a shape and is faster than others: full covariances of 5 to 16 columns, more
/// components than those take, and no weights.
bool suits_circles(const accumulator_shape& shape);

/// The same products where the warps of a team have the same rows and divide the components, while these lie near each
/// other; else `other` takes the rows. Throws bad_argument for a shape that does not suit.
std::unique_ptr<accumulator<float>> make_circle_accumulator(const accumulator_shape& shape,
                                                            std::unique_ptr<accumulator<float>> other);

/// Whether make_many_accumulator takes a shape: at most 8 columns, and sums of all components that lanes hold.
template <class Scalar>
bool suits_many(const accumulator_shape& shape);
extern template bool suits_many<float>(const accumulator_shape&);
extern template bool suits_many<double>(const accumulator_shape&);

/// Whether it is faster there than the other rooms.
template <class Scalar>
bool takes_many(const accumulator_shape& shape);
extern template bool takes_many<float>(const accumulator_shape&);
extern template bool takes_many<double>(const accumulator_shape&);

/// A block computes log-densities twice, for what responsibilities are scaled by and for the moments, so that none of
/// any number of components lie in memory. Throws bad_argument for a shape that does not suit.
template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_many_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<accumulator<float>> make_many_accumulator(const accumulator_shape&);
extern template std::unique_ptr<accumulator<double>> make_many_accumulator(const accumulator_shape&);

/// Whether make_register_accumulator takes a shape: so few columns and components that a thread has registers for the
/// sums of all, and no weights.
bool suits_registers(const accumulator_shape& shape);

/// A thread has whole rows, their responsibilities and the sums of all components in registers. Throws bad_argument for
/// a shape that does not suit. Of the Q of spherical covariances only the sum over the columns is right.
std::unique_ptr<accumulator<float>> make_register_accumulator(const accumulator_shape& shape);

/// Whether make_product_accumulator takes a shape and is faster than others: diagonal and spherical covariances of at
/// most most_columns columns, full ones of at most 8, 256 components at most, many rows, and no weights.
bool suits_products(const accumulator_shape& shape);

/// Densities and moments as products on tensor cores while the components lie so near to each other that sums about a
/// common centre keep their digits; else `other` takes the rows. Of the Q of spherical covariances only the sum over
/// the columns is right. Throws bad_argument for a shape that does not suit.
std::unique_ptr<accumulator<float>> make_product_accumulator(const accumulator_shape& shape,
                                                             std::unique_ptr<accumulator<float>> other);

/// Whether make_term_product_accumulator takes a shape and is faster than others: diagonal and spherical covariances of
/// at most most_columns columns, many rows and components, and no weights.
bool suits_term_products(const accumulator_shape& shape);

/// The same as make_product_accumulator with densities found twice, so that there may be any number of components; up
/// to 256 of them once where eleven bits are asked for.
std::unique_ptr<accumulator<float>> make_term_product_accumulator(const accumulator_shape& shape,
                                                                  std::unique_ptr<accumulator<float>> other);

/// Whether make_float64_product_accumulator takes a shape: full and tied covariances of at most 8 columns, diagonal and
/// spherical ones of at most most_columns, and as many components as the warps of a block have registers for.
bool suits_float64_products(const accumulator_shape& shape);

/// Whether it is faster there than the other rooms.
bool takes_float64_products(const accumulator_shape& shape);

/// Densities and moments as products on float64 tensor cores while the components lie so near to each other that sums
/// about a common centre keep their digits; else `other` takes the rows. Throws bad_argument for a shape that does not
/// suit.
std::unique_ptr<accumulator<double>> make_float64_product_accumulator(const accumulator_shape& shape,
                                                                      std::unique_ptr<accumulator<double>> other);

/// The same with fewer launches, for few components, where the rows otherwise go to make_accumulator's kernels.
bool takes_small_float64_products(const accumulator_shape& shape);
std::unique_ptr<accumulator<double>> make_small_float64_accumulator(const accumulator_shape& shape);

/// Diagonal and spherical covariances of few columns, each row's distances found twice in float32.
bool suits(const predictor_shape& shape);
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape& shape, cudaStream_t stream);

}  // namespace shoal::gmm::few_columns
