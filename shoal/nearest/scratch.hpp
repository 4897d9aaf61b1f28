// The memory that the searches for the nearest centroids keep between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/nearest/byte_rows.hpp>

namespace shoal {

/// Memory that find_nearest and squared_distances keep between calls; one for each thread.
template <class Scalar>
struct nearest_scratch {
  aligned_buffer<Scalar> panel;
  aligned_buffer<Scalar> padded_rows;
  aligned_buffer<double> exact;

  aligned_buffer<std::int32_t> coarse_rows;
  aligned_buffer<std::int32_t> coarse_half_norms;
  std::vector<std::size_t> doubtful;     ///< rows that the coarse search leaves undecided
  aligned_buffer<Scalar> doubtful_rows;  ///< one panel of them
  std::size_t without_coarse = 0;        ///< calls to go before the coarse search is tried again

  byte_panel byte_facts;
  aligned_buffer<float> byte_scales;
  aligned_buffer<float> byte_bounds;
  aligned_buffer<float> byte_row;
  std::size_t candidates = 0;     ///< centroids that the search by bytes left to be compared, of all rows of a call
  bool by_bytes = false;          ///< whether the last call searched by them
  std::size_t without_bytes = 0;  ///< calls to go before it is tried again
  bool may_use_tiles = true;      ///< whether it may multiply by the tile unit; the results are the same
  bool by_tiles = false;          ///< whether the last call did
};

}  // namespace shoal
