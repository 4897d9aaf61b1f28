#include <cuda_runtime.h>

#include <shoal/gmm/cuda/first_model/given_kernels.hpp>
#include <shoal/random/stream.hpp>

namespace shoal::gmm {
namespace {

constexpr unsigned side = 16;  // threads of a block by each side of a tile of pairs
constexpr unsigned threads = side * side;
constexpr unsigned batch = 16;                // rows that are summed together
constexpr unsigned staged = 4 * batch;        // rows that wait in shared memory
constexpr unsigned column_tile = 32;          // columns of theirs at a time: pairs are taken tile by tile
constexpr unsigned drawn_rows = 2048;         // rows whose random responsibilities are drawn together
constexpr unsigned own = column_tile / side;  // columns of a tile that a thread has pairs of, by each side
static_assert(cuda::piece_unit % drawn_rows == 0);

// Where pair (i, j), i <= j, lies.
__device__ std::size_t pair_place(std::size_t i, std::size_t j, std::size_t columns) {
  return i * columns - i * (i + 1) / 2 + j;
}

__host__ __device__ constexpr unsigned tiles_of(std::size_t columns) {
  return static_cast<unsigned>((columns + column_tile - 1) / column_tile);
}

struct row_tiles {
  double weighted[staged][column_tile];  // times the rows' weights
  double plain[staged][column_tile];
};

// One component's sums in one lane, which the blocks of its tiles add rows to.
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

  // Adds `count` rows, batch after batch, to the sums of the block's tile: row_of(n) is the place of one, and
  // weight_of(n) its weight. Ends without a barrier.
  template <class Scalar, class RowOf, class WeightOf>
  __device__ void add(const Scalar* rows, unsigned count, const RowOf& row_of, const WeightOf& weight_of,
                      row_tiles& tiles) const {
    if (count == 0) return;
    const unsigned wide = tiles_of(columns);
    unsigned left = 0, right = blockIdx.z;  // of the tiles with left <= right, in order; of those on the diagonal alone
    if (!pairs) left = right;
    for (; pairs && right >= wide; ++left) right -= wide - left - 1;
    add_tile(rows, count, row_of, weight_of, tiles, std::size_t{left} * column_tile, std::size_t{right} * column_tile);
  }

 private:
  // Of the pairs of columns from i0 and from j0, and where these are the same of the columns by themselves. A thread
  // has the same pairs of every batch, so their sums stay in registers.
  template <class Scalar, class RowOf, class WeightOf>
  __device__ void add_tile(const Scalar* rows, unsigned count, const RowOf& row_of, const WeightOf& weight_of,
                           row_tiles& tiles, std::size_t i0, std::size_t j0) const {
    double* const first = sums + 1;
    double* const second = first + columns;
    const unsigned left = threadIdx.x / side, right = threadIdx.x % side;
    const bool same = i0 == j0;
    const auto visit_own = [&](const auto& visit) {  // visit(a, b, place of the pair)
#pragma unroll
      for (unsigned a = 0; a < own; ++a) {
#pragma unroll
        for (unsigned b = 0; b < own; ++b) {
          const std::size_t i = i0 + left + a * side, j = j0 + right + b * side;
          if (pairs && j < columns && i <= j) visit(a, b, pair_place(i, j, columns));
        }
      }
    };
    double pair_sums[own][own] = {};
    visit_own([&](unsigned a, unsigned b, std::size_t place) { pair_sums[a][b] = second[place]; });
    const std::size_t column = i0 + threadIdx.x;  // of the sums by themselves
    const bool has_column = same && threadIdx.x < column_tile && column < columns;
    double total = same && i0 == 0 && threadIdx.x == threads - 1 ? sums[0] : 0;
    double first_sum = has_column ? first[column] : 0, square_sum = has_column && !pairs ? second[column] : 0;

    for (unsigned at = 0; at < count; at += staged) {
      const unsigned some = min(staged, count - at);
      __syncthreads();
      load(
          rows, some, [&](unsigned r) { return row_of(at + r); }, [&](unsigned r) { return weight_of(at + r); }, tiles,
          i0, j0);
      __syncthreads();
      if (same && i0 == 0 && threadIdx.x == threads - 1) {
        for (unsigned r = 0; r < some; ++r) total += weight_of(at + r);
      }
      for (unsigned from = 0; from < some; from += batch) {
        if (has_column) {
          double sum = 0, square = 0;
#pragma unroll
          for (unsigned r = from; r < from + batch; ++r) {
            const double weight = r < some ? weight_of(at + r) : 0.0;
            sum += weight * tiles.plain[r][threadIdx.x];
            square += tiles.weighted[r][threadIdx.x] * tiles.plain[r][threadIdx.x];
          }
          first_sum += sum;
          square_sum += square;
        }
        if (pairs) add_batch(tiles, from, i0, j0, left, right, pair_sums);
      }
    }

    visit_own([&](unsigned a, unsigned b, std::size_t place) { second[place] = pair_sums[a][b]; });
    if (has_column) first[column] = first_sum;
    if (has_column && !pairs) second[column] = square_sum;
    if (same && i0 == 0 && threadIdx.x == threads - 1) sums[0] = total;
  }

  // The differences of at most `staged` rows in the tiles' columns, as float64; those beyond count as zero.
  template <class Scalar, class RowOf, class WeightOf>
  __device__ void load(const Scalar* rows, unsigned some, const RowOf& row_of, const WeightOf& weight_of,
                       row_tiles& tiles, std::size_t i0, std::size_t j0) const {
    for (unsigned i = threadIdx.x; i < staged * column_tile; i += threads) {
      const unsigned r = i / column_tile, j = i % column_tile;
      const auto value_at = [&](std::size_t from) {
        return r < some && from + j < columns
                   ? static_cast<double>(rows[row_of(r) * columns + from + j]) - centre[from + j]
                   : 0.0;
      };
      const double value = value_at(i0);
      tiles.weighted[r][j] = r < some ? weight_of(r) * value : 0.0;
      tiles.plain[r][j] = i0 == j0 ? value : value_at(j0);
    }
  }

  __device__ void add_batch(const row_tiles& tiles, unsigned from, std::size_t i0, std::size_t j0, unsigned left,
                            unsigned right, double (&pair_sums)[own][own]) const {
    const std::size_t lefts = (columns - i0 + side - 1) / side, rights = (columns - j0 + side - 1) / side;
    double sum[own][own] = {};
#pragma unroll
    for (unsigned r = from; r < from + batch; ++r) {
      double values[own];
#pragma unroll
      for (unsigned b = 0; b < own; ++b) values[b] = b < rights ? tiles.plain[r][right + b * side] : 0.0;
#pragma unroll
      for (unsigned a = 0; a < own; ++a) {
        if (a >= lefts) break;
        const double weighted = tiles.weighted[r][left + a * side];
#pragma unroll
        for (unsigned b = 0; b < own; ++b) {
          if (b < rights) sum[a][b] += weighted * values[b];
        }
      }
    }
#pragma unroll
    for (unsigned a = 0; a < own; ++a) {
#pragma unroll
      for (unsigned b = 0; b < own; ++b) pair_sums[a][b] += sum[a][b];
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

// A block sums one component's rows of one lane.
template <class Scalar>
__global__ void __launch_bounds__(threads, 4)
    labelled_kernel(const Scalar* rows, const Scalar* weights, const std::int32_t* labels, std::size_t share_first,
                    std::size_t count, const double* centres, given_shape shape, double* lanes) {
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
    sums.add(
        rows, found, [&](unsigned n) { return std::size_t{list[n]}; },
        [&](unsigned n) { return weight_of(weights, list[n]); }, tiles);
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

// A block sums one component's shares of the rows of one lane; share_of(i) is its responsibility for row i.
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
      sums.add(
          rows, size, [&](unsigned n) { return begin + n; },
          [&](unsigned n) { return weight_of(weights, begin + n) * static_cast<double>(shares[n]); }, tiles);
    }
  }
}

template <class Scalar>
__global__ void __launch_bounds__(threads, 4)
    random_kernel(const Scalar* rows, const Scalar* weights, std::size_t first, std::size_t share_first,
                  std::size_t count, random_responsibilities draw, const Scalar* uniform_sums, const double* centres,
                  given_shape shape, double* lanes) {
  const unsigned words = words_of(shape.components);
  add_shares(rows, weights, share_first, count, centres, shape, lanes, [&](std::size_t i) {
    return static_cast<Scalar>(uniform_of(draw, first + i, words, blockIdx.x)) / uniform_sums[i];
  });
}

template <class Scalar>
__global__ void __launch_bounds__(threads, 4)
    known_kernel(const Scalar* rows, const Scalar* weights, std::size_t share_first, std::size_t count,
                 const Scalar* responsibilities, const double* centres, given_shape shape, double* lanes) {
  add_shares(rows, weights, share_first, count, centres, shape, lanes,
             [&](std::size_t i) { return responsibilities[i * shape.components + blockIdx.x]; });
}

// A block has a component, a lane and a tile of the pairs of columns.
dim3 grid_of(const given_shape& shape) {
  const unsigned wide = tiles_of(shape.columns);
  return dim3(static_cast<unsigned>(shape.components), static_cast<unsigned>(shape.lanes),
              shape.pairs ? wide * (wide + 1) / 2 : wide);
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
