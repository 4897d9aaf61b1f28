// What wide rows add to the statistics of a map, by warps that fetch them ahead; as sum_by_label() otherwise.
#pragma once

#include <cstddef>

#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

template <class Scalar>
struct sum_arguments {
  searched_rows<Scalar> rows;
  device_units<Scalar> units;
  fixed_sums sums;
  const std::int32_t* labels;
  bool add_rows;  // Σ w(x − m) too
  int tile_rows;
  int chunks;  // of a block's columns, of different warps
  int chunk_columns;
};

/// Whether sum_fetched_rows() takes such rows where they are measured, on GPUs that have_tensor_search(): a row is
/// whole 16 bytes.
bool can_be_fetched(int columns, std::size_t number_bytes);

/// As summed_tile_rows().
int fetched_tile_rows(std::size_t count, int units, int columns, std::size_t multiprocessors, std::size_t shared_bytes);

/// Rows begin at a multiple of 16 bytes. Plain: see run_sums.
template <class Scalar>
void sum_fetched_rows(sum_arguments<Scalar> in, bool plain, std::size_t multiprocessors, std::size_t shared_bytes,
                      cudaStream_t stream);

}  // namespace shoal::som
