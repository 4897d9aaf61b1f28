// What rows add to the statistics of a map, once their units are known.
#pragma once

#include <cstddef>

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// Rows whose labels a block sorts together, so many that what it keeps of them fits into its shared memory; 0: rows
/// are better added one by one, by settle(). `fetches`: wide rows may be fetched ahead (sum_fetched_rows.hpp), on GPUs
/// that have_tensor_search().
int summed_tile_rows(std::size_t count, int units, int columns, metric metric, std::size_t number_bytes,
                     std::size_t multiprocessors, std::size_t shared_bytes, bool fetches);

/// Whether sum_by_label() measures any such rows too.
bool measures_by_label(metric metric, int columns);
/// The same of these rows: more columns where they are fetched.
template <class Scalar>
bool measures_by_label(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                       std::size_t multiprocessors, std::size_t shared_bytes, bool fetches);

/// Adds rows of these labels to the sums: Σ w, with to.rows Σ w(x − m), and where it measures them Σ w·distance. The
/// same bits as settle().
template <class Scalar>
void sum_by_label(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                  const std::int32_t* labels, const settled_rows& to, std::size_t multiprocessors,
                  std::size_t shared_bytes, bool fetches, cudaStream_t stream);

}  // namespace shoal::som
