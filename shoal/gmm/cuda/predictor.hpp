// What a mixture says of rows on one GPU: what every kernel for it offers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/accumulator.hpp>
#include <shoal/gmm/prediction.hpp>
#include <shoal/gmm/statistics_layout.hpp>

namespace shoal::gmm {

/// Predicted responsibilities below exp(−this) are zero: they are as small as the scalar can tell (but for denormals),
/// as on the CPU.
template <class Scalar>
inline constexpr double prediction_cut = sizeof(Scalar) == 4 ? 87.0 : 708.0;

/// Σ w ln p(x) and Σ w.
struct score_sums {
  double log_likelihood = 0;
  double weight = 0;
};

/// Predicts on the GPU that was current when it was made, and sums the rows' score in fixed lanes as it goes: neither
/// the cuts between pieces nor the order in which blocks run changes a bit.
template <class Scalar>
class predictor {
 public:
  /// Pieces begin at multiples of so many rows of the share.
  static constexpr std::size_t unit = 256;

  virtual ~predictor() = default;

  /// Takes a mixture, which all pieces until the next one are predicted with.
  virtual void prepare(const prepared_parameters<Scalar>& parameters, cudaStream_t stream) = 0;
  /// Writes what `out` asks for; its arrays are on the GPU and begin with the piece's first row. A piece whose
  /// share_first is 0 begins another score.
  virtual void add(const cuda::device_piece<Scalar>& piece, const prediction<Scalar>& out, cudaStream_t stream) = 0;
  /// The scores in the order in which they were begun, the last cuda::most_shards at most. Waits.
  virtual std::vector<score_sums> totals(cudaStream_t stream) const = 0;
};

/// What a kernel is chosen by.
struct predictor_shape {
  statistics_layout layout;
  std::size_t most_rows = 0;        ///< of a piece
  std::size_t multiprocessors = 0;  ///< of this GPU
  std::size_t shared_bytes = 0;     ///< most shared memory of a block
};

/// The fastest predictor for that shape, of one of the rooms (choose_predictor.cpp). Lanes are cleared in `stream`.
template <class Scalar>
std::unique_ptr<predictor<Scalar>> make_predictor(const predictor_shape& shape, cudaStream_t stream);
template <>
std::unique_ptr<predictor<float>> make_predictor(const predictor_shape&, cudaStream_t);
template <>
std::unique_ptr<predictor<double>> make_predictor(const predictor_shape&, cudaStream_t);

}  // namespace shoal::gmm
