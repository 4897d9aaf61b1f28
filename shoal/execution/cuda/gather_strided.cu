#include <cuda_runtime.h>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/gather_rows.hpp>

namespace shoal::cuda {
namespace {

constexpr unsigned tile = 32;
constexpr unsigned tile_rows_at_once = 8;

// A tile of rows and columns at a time: read along the rows' direction, in which the elements of column-major memory
// are neighbours, and written along the columns.
template <class Scalar>
__global__ void gather_kernel(const Scalar* from, std::size_t rows, std::size_t columns, std::size_t row_stride,
                              std::size_t column_stride, Scalar* to) {
  __shared__ Scalar shared[tile][tile + 1];
  const std::size_t first_row = std::size_t{blockIdx.x} * tile;
  for (std::size_t first_column = 0; first_column < columns; first_column += tile) {
    for (unsigned j = threadIdx.y; j < tile; j += tile_rows_at_once) {
      const std::size_t row = first_row + threadIdx.x, column = first_column + j;
      if (row < rows && column < columns) shared[j][threadIdx.x] = from[row * row_stride + column * column_stride];
    }
    __syncthreads();
    for (unsigned i = threadIdx.y; i < tile; i += tile_rows_at_once) {
      const std::size_t row = first_row + i, column = first_column + threadIdx.x;
      if (row < rows && column < columns) to[row * columns + column] = shared[threadIdx.x][i];
    }
    __syncthreads();
  }
}

}  // namespace

template <class Scalar>
void gather_strided(const device_matrix_view<const Scalar>& rows, Scalar* to, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((rows.rows() + tile - 1) / tile);
  gather_kernel<<<blocks, dim3(tile, tile_rows_at_once), 0, stream>>>(rows.data(), rows.rows(), rows.columns(),
                                                                      rows.row_stride(), rows.column_stride(), to);
  check_launch("gather_strided");
}

template void gather_strided(const device_matrix_view<const float>&, float*, cudaStream_t);
template void gather_strided(const device_matrix_view<const double>&, double*, cudaStream_t);

}  // namespace shoal::cuda
