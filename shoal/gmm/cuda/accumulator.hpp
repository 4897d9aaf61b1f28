// Rows into a mixture's statistics on one GPU: what every kernel for it offers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/execution/precision.hpp>
#include <shoal/gmm/statistics.hpp>

namespace shoal::gmm {

/// One mixture in the memory of one GPU, in one arithmetic. For a row x and a component k, y = Uₖᵀ(x − cₖ) + bₖ and
/// ln πₖ N(x; μₖ, Σₖ) = log_constantₖ + log_shift − ‖y‖²/2, where UₖUₖᵀ is the precision (parameters.hpp).
template <class Arithmetic>
struct device_components {
  const Arithmetic* centres = nullptr;        ///< [K][d]
  const Arithmetic* offsets = nullptr;        ///< [K][d] bₖ = −Uₖᵀ(μₖ − cₖ)
  const Arithmetic* factors = nullptr;        ///< full [K][d][d], tied [d][d]: U row-major, zero below its diagonal;
                                              ///< diag and spherical [K][d]: 1/σ
  const Arithmetic* log_constants = nullptr;  ///< [K] ln πₖ + Σ ln diag Uₖ − log_shift; −∞ for an empty component
  const double* log_shift = nullptr;          ///< one value
};

/// A mixture ready for the kernels of one GPU.
template <class Scalar>
struct device_parameters {
  device_components<Scalar> packed;     ///< for all rows
  device_components<double> in_double;  ///< about the same centres, for float32's far rows; the same for double
  const int* stopped = nullptr;         ///< when *stopped is not zero, kernels return at once and change nothing
};

/// Adds rows' statistics up in lanes: a fixed number of partial sums, each with rows of its own, so that neither the
/// cuts between pieces nor the order in which blocks run changes a bit. Belongs to the GPU that was current when it was
/// made. Its calls only enqueue: they neither allocate nor wait, so that a step can be recorded as a graph.
template <class Scalar>
class device_accumulator {
 public:
  virtual ~device_accumulator() = default;

  /// Empties the lanes.
  virtual void clear(const device_parameters<Scalar>& parameters, cudaStream_t stream) = 0;
  /// Adds a piece; pieces of a share come in order and begin at multiples of cuda::piece_unit.
  virtual void add(const cuda::device_piece<Scalar>& piece, const device_parameters<Scalar>& parameters,
                   cudaStream_t stream) = 0;
  /// Writes the sum of the lanes, in a fixed order, to `statistics` [layout.size()] as statistics_layout says.
  virtual void merge(double* statistics, const device_parameters<Scalar>& parameters, cudaStream_t stream) = 0;
};

/// What a kernel is chosen by.
struct accumulator_shape {
  statistics_layout layout;
  std::size_t share_rows = 0;       ///< rows of this GPU
  std::size_t multiprocessors = 0;  ///< of this GPU
  std::size_t shared_bytes = 0;     ///< most shared memory of a block
  bool weighted = false;
  shoal::precision precision = shoal::precision::float32;  ///< the least that products of float32 rows must keep
};

/// The fastest kernel for that shape (tuning.hpp says what was measured).
template <class Scalar>
std::unique_ptr<device_accumulator<Scalar>> make_device_accumulator(const accumulator_shape& shape);
extern template std::unique_ptr<device_accumulator<float>> make_device_accumulator(const accumulator_shape&);
extern template std::unique_ptr<device_accumulator<double>> make_device_accumulator(const accumulator_shape&);

/// The kernels themselves, by the name of their idea; each throws bad_argument for a shape it is not made for.
/// Any shape, a thread for each row and sums in float64: slow, and the measure of the others.
template <class Scalar>
std::unique_ptr<device_accumulator<Scalar>> make_plain_accumulator(const accumulator_shape& shape);

}  // namespace shoal::gmm
