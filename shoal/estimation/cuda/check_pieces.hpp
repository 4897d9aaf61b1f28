// The kernels of the data check: pieces of rows into positions of what is refused, moments and a fingerprint.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/cuda/shard_plan.hpp>

namespace shoal {

/// Of one column of some rows.
struct column_moments {
  double weight;         ///< Σ w
  double mean;           ///< zero when the weight is zero
  double second_moment;  ///< Σ w (x − mean)²
  double minimum;        ///< of the rows of positive weight
  double maximum;
  double lowest;  ///< of all rows
  double highest;
};

/// What some rows have in common apart from their columns. Positions count from the first row of the whole data.
struct row_findings {
  double weight;
  double largest_weight;
  unsigned long long positive_rows;
  unsigned long long bad_row;     ///< the greatest value when there is none
  unsigned long long bad_weight;  ///< the greatest value when there is none
  unsigned long long fingerprint;
};

/// Units of cuda::piece_unit rows that a piece of `rows` rows is checked in.
inline std::size_t check_units(std::size_t rows) { return (rows + cuda::piece_unit - 1) / cuda::piece_unit; }

/// Makes `columns` moments and the findings those of no rows.
void clear_check(column_moments* moments, row_findings* findings, std::size_t columns, cudaStream_t stream);

/// Adds a piece: every unit by itself, then the units in order, so that cuts between pieces change nothing. `scratch`
/// is [check_units(piece.count)][columns], `scratch_findings` [check_units(piece.count)].
template <class Scalar>
void check_piece(const cuda::device_piece<Scalar>& piece, std::size_t columns, bool fingerprint,
                 column_moments* scratch, row_findings* scratch_findings, column_moments* moments,
                 row_findings* findings, cudaStream_t stream);
extern template void check_piece(const cuda::device_piece<float>&, std::size_t, bool, column_moments*, row_findings*,
                                 column_moments*, row_findings*, cudaStream_t);
extern template void check_piece(const cuda::device_piece<double>&, std::size_t, bool, column_moments*, row_findings*,
                                 column_moments*, row_findings*, cudaStream_t);

}  // namespace shoal
