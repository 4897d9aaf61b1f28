// What a check of the data says of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/estimation/check_statistics.hpp>
#include <shoal/io/row_source.hpp>
#include <shoal/io/row_weights.hpp>

namespace shoal {

/// What a fit knows of its data before it starts. Moments are weighted.
struct data_summary {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t positive_rows = 0;  ///< rows of positive weight; all rows without weights
  double total_weight = 0;        ///< Σ w in the caller's units; the number of rows without weights
  double largest_weight = 1;      ///< max w
  std::vector<double> mean;       ///< [columns]
  std::vector<double> variance;   ///< [columns], population variance
  std::vector<double> minimum;    ///< [columns] of the rows of positive weight
  std::vector<double> maximum;    ///< [columns] of the rows of positive weight
  std::vector<double> lowest;     ///< [columns] of all rows
  std::vector<double> highest;    ///< [columns] of all rows
  std::uint64_t fingerprint = 0;  ///< of every value and weight, when asked for; else 0
};

/// The widest column whose differences can be squared, and a block of these summed, in Scalar.
template <class Scalar>
inline constexpr double widest_span = sizeof(Scalar) == 4 ? 1e17 : 1e150;

/// What can be refused before a row is read, whichever executor then folds the rows into check_statistics.
template <class Scalar>
void check_shapes(const row_source<Scalar>& rows, row_weights weights);
/// Throws bad_data when what was found among `weights` says that they cannot be used.
template <class Scalar>
void refuse_weights(const check_statistics& all, const row_source<Scalar>& weights);
template <class Scalar>
data_summary summarise(const check_statistics& all, const row_source<Scalar>& rows, const row_source<Scalar>* weights);

}  // namespace shoal
