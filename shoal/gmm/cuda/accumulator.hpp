// Rows into a mixture's statistics on one GPU: what every kernel for it offers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/gmm/cuda/parameters.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm {

/// Partial sums one behind the other, each of as many numbers as the statistics have.
struct lane_array {
  const double* values = nullptr;
  std::size_t count = 0;
};

/// Adds rows' statistics up in lanes: a fixed number of partial sums, each with rows of its own, so that neither the
/// cuts between pieces nor the order in which blocks run changes a bit. Belongs to the GPU that was current when it was
/// made. Its calls only enqueue: they neither allocate nor wait, so that a step can be recorded as a graph.
template <class Scalar>
class accumulator {
 public:
  virtual ~accumulator() = default;

  /// Whether a piece may hold all rows of several shards, as many as the shape said: merge() then writes the sum of
  /// each, with the bits that it would have by itself.
  virtual bool keeps_shards_apart() const { return false; }

  /// Empties the lanes.
  virtual void clear(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) = 0;
  /// Adds a piece; pieces of a share come in order and begin at multiples of cuda::piece_unit.
  virtual void add(const cuda::device_piece<Scalar>& piece, const prepared_parameters<Scalar>& parameters,
                   cudaStream_t stream) = 0;
  /// Writes the sum of the lanes, in a fixed order, to `statistics` [layout.size()] as statistics_layout says.
  virtual void merge(double* statistics, const prepared_parameters<Scalar>& parameters, cudaStream_t stream) = 0;
  /// What merge() would add up, for who does it in that order (few_columns/kernels.hpp says which); none where lanes
  /// lie otherwise.
  virtual lane_array lanes() const { return {}; }
};

/// What a kernel is chosen by.
struct accumulator_shape {
  statistics_layout layout;
  std::size_t share_rows = 0;       ///< rows that are summed together: a shard's, or fewer
  std::size_t multiprocessors = 0;  ///< of this GPU
  std::size_t shared_bytes = 0;     ///< most shared memory of a block
  bool weighted = false;
  shoal::precision precision = shoal::precision::float32;  ///< the least that products of float32 rows must keep
  std::size_t shards = 1;                                  ///< of this GPU that one piece may hold
  std::size_t data_shards = 1;  ///< of all GPUs: what is planned for all rows must not depend on a GPU's share
};

/// The fastest kernel for that shape, of one of the rooms (choose_accumulator.cpp).
template <class Scalar>
std::unique_ptr<accumulator<Scalar>> make_accumulator(const accumulator_shape& shape);
template <>
std::unique_ptr<accumulator<float>> make_accumulator(const accumulator_shape&);
template <>
std::unique_ptr<accumulator<double>> make_accumulator(const accumulator_shape&);

}  // namespace shoal::gmm
