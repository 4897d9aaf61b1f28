// The kernel of labelled_statistics.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include <shoal/execution/cuda/device_rows.hpp>

namespace shoal::gmm {

/// Sums of one component's rows, in each lane: the weight, d first moments, then second moments, all pairs (i, j) with
/// i <= j row by row, or the squares alone.
struct labelled_shape {
  std::size_t components = 0;
  std::size_t columns = 0;
  bool pairs = false;  ///< all pairs of columns rather than the squares
  std::size_t lanes = 0;

  constexpr std::size_t second_size() const { return pairs ? columns * (columns + 1) / 2 : columns; }
  constexpr std::size_t component_size() const { return 1 + columns + second_size(); }
  constexpr std::size_t lane_size() const { return components * component_size(); }
};

/// Adds a piece to `lanes` [lanes][K][component_size]: unit u of cuda::piece_unit rows of the share to lane u mod
/// lanes.
template <class Scalar>
void add_labelled(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, const double* centres,
                  const labelled_shape& shape, double* lanes, cudaStream_t stream);
extern template void add_labelled(const cuda::device_piece<float>&, const std::int32_t*, const double*,
                                  const labelled_shape&, double*, cudaStream_t);
extern template void add_labelled(const cuda::device_piece<double>&, const std::int32_t*, const double*,
                                  const labelled_shape&, double*, cudaStream_t);

}  // namespace shoal::gmm
