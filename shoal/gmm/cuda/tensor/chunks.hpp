// What the kernels for many columns share on the host: rows pass in chunks, whose terms (a number for each row and
// component) stay in a GPU's memory between the kernels.
#pragma once

#include <algorithm>
#include <cstddef>

#include <shoal/execution/cuda/buffers.hpp>
#include <shoal/execution/cuda/device_piece.hpp>
#include <shoal/gmm/cuda/tensor/layout.hpp>
#include <shoal/gmm/prediction.hpp>

namespace shoal::gmm::tensor {

/// Terms of so many rows and components are kept at a time, 512 MiB, so that kernels are long beside the gaps between
/// them: with 2²⁵ and 2²⁷, spherical (10⁶, 128, 1024) takes 5.07 and 4.74 ms, 4.14 and 3.86 where components lie apart,
/// diag 7.69 and 7.47, in tf32 5.08 and 4.70, full (2²⁰, 32, 64) 1.96 and 1.90.
inline constexpr std::size_t chunk_terms = std::size_t{1} << 27;
/// Most memory of the lanes.
inline constexpr std::size_t most_lane_bytes = std::size_t{256} << 20;

/// Whether the current GPU multiplies by four warps at a time.
bool has_products();

/// Rows of a chunk when `most_rows` rows pass; a multiple of cuda::piece_unit, as most_chunk_rows is.
std::size_t chunk_rows_for(std::size_t components, std::size_t most_rows, std::size_t most_chunk_rows);

/// Rows that each of `lanes` lanes takes at a time, between least_rows and most_rows, both powers of two: as many as
/// leave each lane some of a whole chunk.
std::size_t section_rows_for(std::size_t lanes, std::size_t chunk_rows, std::size_t least_rows, std::size_t most_rows);

/// Throws bad_argument unless a piece begins at a multiple of cuda::piece_unit and at 16 bytes.
void check_piece(const cuda::device_piece<float>& piece);

/// Calls call(chunk, first) for the chunks of a piece of rows of so many columns, in order, of which each begins with
/// the piece's row number `first`.
template <class Call>
void for_each_chunk(const cuda::device_piece<float>& piece, std::size_t columns, std::size_t chunk_rows,
                    const Call& call) {
  for (std::size_t first = 0; first < piece.count; first += chunk_rows) {
    chunk rows;
    rows.rows = piece.rows + first * columns;
    rows.weights = piece.weights == nullptr ? nullptr : piece.weights + first;
    rows.share_first = piece.share_first + first;
    rows.count = static_cast<int>(std::min(chunk_rows, piece.count - first));
    call(rows, first);
  }
}

/// What `out` asks for, from row number `row` on.
prediction<float> beginning_at(const prediction<float>& out, std::size_t row, std::size_t components);

/// Makes a buffer that large and says where it begins.
template <class Element>
Element* take(cuda::device_buffer<Element>& buffer, std::size_t size) {
  buffer.grow(size);
  return buffer.data();
}

}  // namespace shoal::gmm::tensor
