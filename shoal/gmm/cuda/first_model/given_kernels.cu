#include <cuda_runtime.h>

#include <shoal/gmm/cuda/first_model/given_kernels.hpp>
#include <shoal/random/stream.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned threads = 256;
constexpr unsigned batch = 16;         // rows that wait in shared memory
constexpr unsigned column_tile = 64;   // columns of theirs at a time: pairs are taken tile by tile
constexpr unsigned drawn_rows = 2048;  // rows whose random responsibilities are drawn together
static_assert(cuda::piece_unit % drawn_rows == 0);

// Where pair (i, j), i <= j, lies.
__device__ std::size_t pair_place(std::size_t i, std::size_t j, std::size_t columns) {
  return i * columns - i * (i + 1) / 2 + j;
}

struct row_tiles {
  double left[batch][column_tile];
  double right[batch][column_tile];
};

// The differences of some rows in columns [from, from + column_tile), as float64.
template <class Scalar, class RowOf>
__device__ void load(const Scalar* rows, const RowOf& row_of, unsigned count, std::size_t columns, std::size_t from,
                     const double* centre, double (&tile)[batch][column_tile]) {
  for (unsigned i = threadIdx.x; i < batch * column_tile; i += threads) {
    const unsigned r = i / column_tile, j = i % column_tile;
    const bool inside = r < count && from + j < columns;
    tile[r][j] = inside ? static_cast<double>(rows[row_of(r) * columns + from + j]) - centre[from + j] : 0.0;
  }
}

// One component's sums in one lane, which a block adds rows to.
struct component_sums {
  double* sums;
  const double* centre;
  std::size_t columns;
  bool pairs;

  __device__ component_sums(const given_shape& shape, const double* centres, double* lanes)
      : sums(lanes + blockIdx.y * shape.lane_size() + blockIdx.x * shape.component_size()),
        centre(centres + blockIdx.x * shape.columns),
        columns(shape.columns),
        pairs(shape.pairs) {}

  // Adds at most `batch` rows; weights beyond them are zero. Ends without a barrier.
  template <class Scalar, class RowOf>
  __device__ void add(const Scalar* rows, const RowOf& row_of, unsigned some, const double (&weight)[batch],
                      row_tiles& tiles) const {
    double* const first = sums + 1;
    double* const second = first + columns;
    if (threadIdx.x == 0) {
      for (unsigned r = 0; r < some; ++r) sums[0] += weight[r];
    }
    for (std::size_t i0 = 0; i0 < columns; i0 += column_tile) {
      __syncthreads();
      load(rows, row_of, some, columns, i0, centre, tiles.left);
      __syncthreads();
      for (unsigned i = threadIdx.x; i < column_tile && i0 + i < columns; i += threads) {
        double sum = 0, square = 0;
        for (unsigned r = 0; r < batch; ++r) {
          sum += weight[r] * tiles.left[r][i];
          square += weight[r] * tiles.left[r][i] * tiles.left[r][i];
        }
        first[i0 + i] += sum;
        if (!pairs) second[i0 + i] += square;
      }
      if (!pairs) continue;
      for (std::size_t j0 = i0; j0 < columns; j0 += column_tile) {
        __syncthreads();
        load(rows, row_of, some, columns, j0, centre, tiles.right);
        __syncthreads();
        for (unsigned pair = threadIdx.x; pair < column_tile * column_tile; pair += threads) {
          const unsigned i = pair / column_tile, j = pair % column_tile;
          if (i0 + i >= columns || j0 + j >= columns || i0 + i > j0 + j) continue;
          double sum = 0;
          for (unsigned r = 0; r < batch; ++r) sum += weight[r] * tiles.left[r][i] * tiles.right[r][j];
          second[pair_place(i0 + i, j0 + j, columns)] += sum;
        }
      }
    }
  }
};

// The first of a lane's units among those of a piece.
__device__ std::size_t first_unit(std::size_t share_first, std::size_t lanes) {
  return (blockIdx.y + lanes - share_first / cuda::piece_unit % lanes) % lanes;
}

template <class Scalar>
__device__ double weight_of(const Scalar* weights, std::size_t i) {
  return weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
}

// One block sums one component's rows of one lane.
template <class Scalar>
__global__ void labelled_kernel(const Scalar* rows, const Scalar* weights, const std::int32_t* labels,
                                std::size_t share_first, std::size_t count, const double* centres, given_shape shape,
                                double* lanes) {
  __shared__ row_tiles tiles;
  __shared__ unsigned list[cuda::piece_unit];
  __shared__ unsigned listed[threads / 32 + 1];
  const std::int32_t component = static_cast<std::int32_t>(blockIdx.x);
  const component_sums sums(shape, centres, lanes);
  const std::size_t units = (count + cuda::piece_unit - 1) / cuda::piece_unit;

  for (std::size_t unit = first_unit(share_first, shape.lanes); unit < units; unit += shape.lanes) {
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
      for (unsigned r = 0; r < batch; ++r) weight[r] = r < some ? weight_of(weights, list[at + r]) : 0.0;
      sums.add(
          rows, [&](unsigned r) { return std::size_t{list[at + r]}; }, some, weight, tiles);
    }
    __syncthreads();
  }
}

__device__ double uniform_of(const random_responsibilities& draw, std::size_t row, unsigned words, unsigned k) {
  const auto block = random::philox4x32::block(draw.seed, draw.id, row * words + k / 2);
  const unsigned low = k % 2 * 2;
  return random::open_uniform(block[low] | static_cast<std::uint64_t>(block[low + 1]) << 32);
}

// Two uniforms a block of the generator.
__device__ unsigned words_of(std::size_t components) { return static_cast<unsigned>((components + 1) / 2); }

template <class Scalar>
__global__ void uniform_sums_kernel(random_responsibilities draw, std::size_t first, std::size_t count,
                                    unsigned components, Scalar* sums) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned words = words_of(components);
  double sum = 0;
  for (unsigned word = 0; word < words; ++word) {
    const auto block = random::philox4x32::block(draw.seed, draw.id, (first + i) * words + word);
    sum += random::open_uniform(block[0] | static_cast<std::uint64_t>(block[1]) << 32);
    if (2 * word + 1 < components) sum += random::open_uniform(block[2] | static_cast<std::uint64_t>(block[3]) << 32);
  }
  sums[i] = static_cast<Scalar>(sum);
}

// One block sums one component's shares of the rows of one lane; share_of(i) is its responsibility for row i.
template <class Scalar, class ShareOf>
__device__ void add_shares(const Scalar* rows, const Scalar* weights, std::size_t share_first, std::size_t count,
                           const double* centres, const given_shape& shape, double* lanes, const ShareOf& share_of) {
  __shared__ row_tiles tiles;
  __shared__ Scalar shares[drawn_rows];
  const component_sums sums(shape, centres, lanes);
  const std::size_t units = (count + cuda::piece_unit - 1) / cuda::piece_unit;

  for (std::size_t unit = first_unit(share_first, shape.lanes); unit < units; unit += shape.lanes) {
    const std::size_t end = min((unit + 1) * cuda::piece_unit, count);
    for (std::size_t begin = unit * cuda::piece_unit; begin < end; begin += drawn_rows) {
      const unsigned size = static_cast<unsigned>(min(std::size_t{drawn_rows}, end - begin));
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size; i += threads) shares[i] = share_of(begin + i);
      __syncthreads();
      for (unsigned at = 0; at < size; at += batch) {
        const unsigned some = min(batch, size - at);
        double weight[batch];
        for (unsigned r = 0; r < batch; ++r) {
          weight[r] = r < some ? weight_of(weights, begin + at + r) * static_cast<double>(shares[at + r]) : 0.0;
        }
        sums.add(
            rows, [&](unsigned r) { return begin + at + r; }, some, weight, tiles);
      }
    }
  }
}

template <class Scalar>
__global__ void random_kernel(const Scalar* rows, const Scalar* weights, std::size_t first, std::size_t share_first,
                              std::size_t count, random_responsibilities draw, const Scalar* uniform_sums,
                              const double* centres, given_shape shape, double* lanes) {
  const unsigned words = words_of(shape.components);
  add_shares(rows, weights, share_first, count, centres, shape, lanes, [&](std::size_t i) {
    return static_cast<Scalar>(uniform_of(draw, first + i, words, blockIdx.x)) / uniform_sums[i];
  });
}

template <class Scalar>
__global__ void known_kernel(const Scalar* rows, const Scalar* weights, std::size_t share_first, std::size_t count,
                             const Scalar* responsibilities, const double* centres, given_shape shape, double* lanes) {
  add_shares(rows, weights, share_first, count, centres, shape, lanes,
             [&](std::size_t i) { return responsibilities[i * shape.components + blockIdx.x]; });
}

dim3 grid_of(const given_shape& shape) {
  return dim3(static_cast<unsigned>(shape.components), static_cast<unsigned>(shape.lanes));
}

}  // namespace

template <class Scalar>
void add_labelled(const cuda::device_piece<Scalar>& piece, const std::int32_t* labels, const double* centres,
                  const given_shape& shape, double* lanes, cudaStream_t stream) {
  labelled_kernel<<<grid_of(shape), threads, 0, stream>>>(piece.rows, piece.weights, labels, piece.share_first,
                                                          piece.count, centres, shape, lanes);
  cuda::check_launch("add_labelled");
}

template <class Scalar>
void add_random(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw, const double* centres,
                const given_shape& shape, Scalar* uniform_sums, double* lanes, cudaStream_t stream) {
  uniform_sums_kernel<<<static_cast<unsigned>((piece.count + threads - 1) / threads), threads, 0, stream>>>(
      draw, piece.first, piece.count, static_cast<unsigned>(shape.components), uniform_sums);
  cuda::check_launch("add_random");
  random_kernel<<<grid_of(shape), threads, 0, stream>>>(piece.rows, piece.weights, piece.first, piece.share_first,
                                                        piece.count, draw, uniform_sums, centres, shape, lanes);
  cuda::check_launch("add_random");
}

template <class Scalar>
void add_known(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities, const double* centres,
               const given_shape& shape, double* lanes, cudaStream_t stream) {
  known_kernel<<<grid_of(shape), threads, 0, stream>>>(piece.rows, piece.weights, piece.share_first, piece.count,
                                                       responsibilities, centres, shape, lanes);
  cuda::check_launch("add_known");
}

template void add_labelled(const cuda::device_piece<float>&, const std::int32_t*, const double*, const given_shape&,
                           double*, cudaStream_t);
template void add_labelled(const cuda::device_piece<double>&, const std::int32_t*, const double*, const given_shape&,
                           double*, cudaStream_t);
template void add_random(const cuda::device_piece<float>&, const random_responsibilities&, const double*,
                         const given_shape&, float*, double*, cudaStream_t);
template void add_random(const cuda::device_piece<double>&, const random_responsibilities&, const double*,
                         const given_shape&, double*, double*, cudaStream_t);
template void add_known(const cuda::device_piece<float>&, const float*, const double*, const given_shape&, double*,
                        cudaStream_t);
template void add_known(const cuda::device_piece<double>&, const double*, const double*, const given_shape&, double*,
                        cudaStream_t);

}  // namespace shoal::gmm
