// Pieces of rows, cut into chunks whose terms fit into a workspace.
#pragma once

#include <algorithm>
#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/gmm/cuda/score_lanes.hpp>
#include <shoal/gmm/cuda/tensor_float64/kernels.hpp>

namespace shoal::gmm::tensor_float64 {

/// The terms of all components for as many rows as take at most so many bytes, and of `unit` rows at least.
inline constexpr std::size_t workspace_bytes = std::size_t{128} << 20;
/// The same where rows are read once, and terms are for those of far tiles alone: fewer launches that mostly find none.
inline constexpr std::size_t one_pass_workspace_bytes = std::size_t{512} << 20;
/// Of many components so many rows in spite of it, in memory for at most so many terms: fits of (10⁶, 8, 1000) diagonal
/// components take 20 ms an iteration instead of 36, labels 18 ms instead of 47.
inline constexpr std::size_t least_chunk_rows = std::size_t{1} << 16;
inline constexpr std::size_t most_chunk_bytes = std::size_t{1} << 30;

/// Rows of a chunk, whole units.
inline std::size_t chunk_rows(std::size_t components, std::size_t most_rows, std::size_t unit, std::size_t bytes) {
  const std::size_t row_bytes = components * sizeof(double);
  bytes = std::max(bytes, std::min(least_chunk_rows * row_bytes, most_chunk_bytes));
  const std::size_t wanted = bytes / row_bytes / unit * unit;
  return std::min(std::max(wanted, unit), (std::max<std::size_t>(most_rows, 1) + unit - 1) / unit * unit);
}

/// The same where so many bytes are free beside the rows: what goes beyond `bytes` takes at most a quarter of them.
/// Sums are the same bits with any: they go by sections of the share.
inline std::size_t affordable_chunk_rows(std::size_t components, std::size_t most_rows, std::size_t unit,
                                         std::size_t bytes, std::size_t free) {
  const std::size_t affordable = std::max(bytes, free / 4) / (components * sizeof(double)) / unit * unit;
  return std::min(chunk_rows(components, most_rows, unit, bytes), std::max(unit, affordable));
}

class chunk_workspace {
 public:
  /// Chunks are of whole units but for the last of a piece. On the current GPU, which has the rows already.
  chunk_workspace(std::size_t components, std::size_t most_rows, std::size_t unit,
                  std::size_t bytes = workspace_bytes) {
    rows_ = chunk_rows(components, most_rows, unit, bytes);
    if (components * rows_ * sizeof(double) > bytes) {
      std::size_t free = 0, total = 0;
      cuda::check(cudaMemGetInfo(&free, &total), "ask for its free memory");
      rows_ = affordable_chunk_rows(components, most_rows, unit, bytes, free);
    }
    values_.grow(components * rows_);
    sums_.grow(2 * score_tiles(rows_));
  }

  std::size_t rows() const { return rows_; }
  row_terms terms() { return {values_.data(), rows_, sums_.data()}; }

  /// Calls visit(chunk, first row of the chunk in the piece).
  template <class Scalar, class Visit>
  void for_each_chunk(const cuda::device_piece<Scalar>& piece, std::size_t columns, const Visit& visit) const {
    for (std::size_t begin = 0; begin < piece.count; begin += rows_) {
      visit(row_chunk<Scalar>{piece.rows + begin * columns, piece.weights == nullptr ? nullptr : piece.weights + begin,
                              std::min(rows_, piece.count - begin), piece.share_first + begin},
            begin);
    }
  }

 private:
  std::size_t rows_ = 0;
  cuda::device_buffer<double> values_;
  cuda::device_buffer<double> sums_;
};

}  // namespace shoal::gmm::tensor_float64
