// The kernel of predictions: what a mixture says of each row of a piece.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_rows.hpp>
#include <shoal/gmm/cuda/device_mixture.hpp>
#include <shoal/gmm/gmm.hpp>

namespace shoal::gmm {

/// Predicts on the GPU that was current when it was made, and sums the rows' score in fixed lanes as it goes: neither
/// the cuts between pieces nor the order in which blocks run changes a bit.
template <class Scalar>
class row_predictor {
 public:
  /// Pieces begin at multiples of so many rows of the share.
  static constexpr std::size_t unit = 256;

  /// For pieces of at most `most_rows` rows.
  row_predictor(const statistics_layout& layout, std::size_t most_rows, std::size_t multiprocessors,
                cudaStream_t stream);

  /// Writes what `out` asks for; its arrays are on the GPU and begin with the piece's first row.
  void add(const cuda::device_piece<Scalar>& piece, const device_parameters<Scalar>& parameters,
           const prediction<Scalar>& out, cudaStream_t stream);

  struct score {
    double log_likelihood = 0;  ///< Σ w ln p(x)
    double weight = 0;          ///< Σ w
  };
  /// Of all rows so far. Waits.
  score total(cudaStream_t stream) const;

 private:
  device_layout layout_;
  unsigned blocks_ = 1;
  cuda::device_buffer<double> scratch_;  // [blocks][K][unit]
  cuda::device_buffer<double> tiles_;    // [tiles of a piece][2]
  cuda::device_buffer<double> lanes_;    // [lanes][2]
};
extern template class row_predictor<float>;
extern template class row_predictor<double>;

}  // namespace shoal::gmm
