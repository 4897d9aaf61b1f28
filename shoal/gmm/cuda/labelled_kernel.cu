#include <cuda_runtime.h>

#include <shoal/gmm/cuda/labelled_kernel.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned batch = 16;        // rows that wait in shared memory
constexpr unsigned column_tile = 64;  // columns of theirs at a time: pairs are taken tile by tile

// Where pair (i, j), i <= j, lies.
__device__ std::size_t pair_place(std::size_t i, std::size_t j, std::size_t columns) {
  return i * columns - i * (i + 1) / 2 + j;
}

// The differences of some rows in columns [from, from + column_tile), as float64.
template <class Scalar>
__device__ void load(const Scalar* rows, const unsigned* list, unsigned count, std::size_t columns, std::size_t from,
                     const double* centre, double (&tile)[batch][column_tile]) {
  for (unsigned i = threadIdx.x; i < batch * column_tile; i += threads) {
    const unsigned r = i / column_tile, j = i % column_tile;
    const bool inside = r < count && from + j < columns;
    tile[r][j] = inside ? static_cast<double>(rows[list[r] * columns + from + j]) - centre[from + j] : 0.0;
  }
}

// One block sums one component's rows of one lane.
template <class Scalar>
__global__ void labelled_kernel(const Scalar* rows, const Scalar* weights, const std::int32_t* labels,
                                std::size_t share_first, std::size_t count, const double* centres, labelled_shape shape,
                                double* lanes) {
  __shared__ double left[batch][column_tile], right[batch][column_tile];
  __shared__ unsigned list[cuda::piece_unit];
  __shared__ unsigned listed[threads / 32 + 1];
  const std::size_t columns = shape.columns;
  const std::int32_t component = static_cast<std::int32_t>(blockIdx.x);
  const double* const centre = centres + component * columns;
  double* const sums = lanes + blockIdx.y * shape.lane_size() + component * shape.component_size();
  double* const first = sums + 1;
  double* const second = first + columns;
  const std::size_t units = (count + cuda::piece_unit - 1) / cuda::piece_unit;
  const std::size_t unit_before = share_first / cuda::piece_unit;

  for (std::size_t unit = (blockIdx.y + shape.lanes - unit_before % shape.lanes) % shape.lanes; unit < units;
       unit += shape.lanes) {
    const std::size_t begin = unit * cuda::piece_unit;
    const std::size_t size = min(cuda::piece_unit, count - begin);
    // The unit's rows of this component, in order.
    unsigned found = 0;
    for (std::size_t at = 0; at < size; at += threads) {
      const std::size_t i = at + threadIdx.x;
      const bool mine = i < size && labels[begin + i] == component;
      const unsigned mask = __ballot_sync(~0u, mine);
      __syncthreads();
      if (threadIdx.x % 32 == 0) listed[threadIdx.x / 32] = __popc(mask);
      __syncthreads();
      unsigned place = found;
      for (unsigned warp = 0; warp < threads / 32; ++warp) {
        if (warp < threadIdx.x / 32) place += listed[warp];
        found += listed[warp];
      }
      if (mine) list[place + __popc(mask & ((1u << threadIdx.x % 32) - 1))] = static_cast<unsigned>(begin + i);
    }
    __syncthreads();
    for (unsigned at = 0; at < found; at += batch) {
      const unsigned some = min(batch, found - at);
      double weight[batch];
      for (unsigned r = 0; r < batch; ++r) {
        weight[r] = r < some ? (weights == nullptr ? 1.0 : static_cast<double>(weights[list[at + r]])) : 0.0;
      }
      if (threadIdx.x == 0) {
        for (unsigned r = 0; r < some; ++r) sums[0] += weight[r];
      }
      for (std::size_t i0 = 0; i0 < columns; i0 += column_tile) {
        __syncthreads();
        load(rows, list + at, some, columns, i0, centre, left);
        __syncthreads();
        for (unsigned i = threadIdx.x; i < column_tile && i0 + i < columns; i += threads) {
          double sum = 0, square = 0;
          for (unsigned r = 0; r < batch; ++r) {
            sum += weight[r] * left[r][i];
            square += weight[r] * left[r][i] * left[r][i];
          }
          first[i0 + i] += sum;
          if (!shape.pairs) second[i0 + i] += square;
        }
        if (!shape.pairs) continue;
        for (std::size_t j0 = i0; j0 < columns; j0 += column_tile) {
          __syncthreads();
          load(rows, list + at, some, columns, j0, centre, right);
          __syncthreads();
          for (unsigned pair = threadIdx.x; pair < column_tile * column_tile; pair += threads) {
            const unsigned i = pair / column_tile, j = pair % column_tile;
            if (i0 + i >= columns || j0 + j >= columns || i0 + i > j0 + j) continue;
            double sum = 0;
            for (unsigned r = 0; r < batch; ++r) sum += weight[r] * left[r][i] * right[r][j];
            second[pair_place(i0 + i, j0 + j, columns)] += sum;
          }
        }
      }
    }
    __syncthreads();
  }
}

}  // namespace

template <class Scalar>
void add_labelled(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, const double* centres,
                  const labelled_shape& shape, double* lanes, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(shape.components), static_cast<unsigned>(shape.lanes));
  labelled_kernel<<<grid, threads, 0, stream>>>(piece.rows, piece.weights, labels, piece.share_first, piece.count,
                                                centres, shape, lanes);
  cuda::check_launch("add_labelled");
}

template void add_labelled(const cuda::device_piece<float>&, const std::int32_t*, const double*, const labelled_shape&,
                           double*, cudaStream_t);
template void add_labelled(const cuda::device_piece<double>&, const std::int32_t*, const double*, const labelled_shape&,
                           double*, cudaStream_t);

}  // namespace shoal::gmm
