// The nearest centroids of rows of which a fit keeps a bound for every centroid: only centroids that may have come
// nearer are compared, by products of bytes, and by float32 where these leave some in doubt. Exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/nearest/bounded_rows.hpp>
#include <shoal/nearest/centroid_index.hpp>

namespace shoal {

/// Memory that find_nearest_bounded keeps between calls; one for each thread.
struct bounded_scratch {
  static constexpr std::size_t rows_at_once = 64;

  aligned_buffer<float> row;
  aligned_buffer<std::int32_t> pairs;  ///< rows and centroids to be compared, of so many rows
  aligned_buffer<std::int32_t> products;
  aligned_buffer<std::int32_t> doubtful;  ///< rows that were left in doubt
  std::size_t compared = 0;               ///< pairs that were compared by bytes, of all calls
  std::size_t candidates = 0;             ///< and those that were compared in float32
};

/// What a search reads.
struct bounded_call {
  const centroid_index<float>* index;
  const byte_centroids* bytes;    ///< of the index, whose origin the rows' bytes have too
  const float* centroids;         ///< in float32, [clusters][columns]
  float largest_norm;             ///< the largest of their norms ‖c‖, rounded up
  matrix_view<const float> rows;  ///< rows first, first + 1, … of those that are kept
  std::size_t first;
  std::size_t following;  ///< so many rows lie behind these in memory, and will be asked for next
};

/// Whether this processor has what the search by bounds needs, and no faster search by bytes.
bool has_bounded_search();

/// Brings labels[i], which must be the row's label when its bounds were left, and the bounds of the rows up to date.
/// Returns how many of the rows are in doubt, which are in scratch.doubtful: their labels are to be found otherwise.
std::size_t find_nearest_bounded(const bounded_call& call, std::int32_t* labels, bounded_rows& kept,
                                 bounded_scratch& scratch);

}  // namespace shoal
