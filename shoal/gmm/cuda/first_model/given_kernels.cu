#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/plan.hpp>
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
__host__ __device__ constexpr unsigned words_of(std::size_t components) {
  return static_cast<unsigned>((components + 1) / 2);
}

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

// Random responsibilities about one centre that all components share: their sums are products of responsibilities with
// the rows' features (1, z, products of z), which all components share too.
constexpr unsigned spread_rows = 16;        // rows in hand
constexpr unsigned spread_components = 32;  // of a block
constexpr unsigned warp_components = spread_components / (threads / 32);
// A block has components and a lane; a thread some components, and every 32nd feature of `Own`.
template <unsigned Own, class Scalar>
__global__ void __launch_bounds__(threads)
    spread_kernel(const Scalar* rows, const Scalar* weights, std::size_t first, std::size_t share_first,
                  std::size_t count, random_responsibilities draw, const Scalar* uniform_sums, const double* centre,
                  given_shape shape, double* lanes) {
  constexpr unsigned pitch = Own * 32;
  __shared__ double features[spread_rows][pitch];
  __shared__ double shares[spread_rows][spread_components];
  __shared__ double differences[spread_rows][most_spread_columns];
  __shared__ unsigned char left[pitch], right[pitch];  // the columns of a product
  const auto columns = static_cast<unsigned>(shape.columns), size = static_cast<unsigned>(shape.component_size());
  const auto components = static_cast<unsigned>(shape.components);
  const unsigned words = words_of(components), k0 = blockIdx.x * spread_components;
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    unsigned p = 1 + columns;
    for (unsigned i = 0; i < columns; ++i) {
      for (unsigned j = i; j < (shape.pairs ? columns : i + 1); ++j, ++p) {
        left[p] = static_cast<unsigned char>(i);
        right[p] = static_cast<unsigned char>(j);
      }
    }
  }
  double* const lane_sums = lanes + blockIdx.y * shape.lane_size();
  double sums[warp_components][Own];
  const auto visit_own = [&](const auto& visit) {  // visit(sum, its place)
#pragma unroll
    for (unsigned c = 0; c < warp_components; ++c) {
      const unsigned k = k0 + warp * warp_components + c;
#pragma unroll
      for (unsigned o = 0; o < Own; ++o) {
        const unsigned p = o * 32 + lane;
        if (k < components && p < size) visit(sums[c][o], lane_sums[k * shape.component_size() + p]);
      }
    }
  };
  visit_own([](double& sum, const double& kept) { sum = kept; });
  const std::size_t units = (count + cuda::piece_unit - 1) / cuda::piece_unit;
  for (std::size_t unit = first_unit(share_first, shape.lanes); unit < units; unit += shape.lanes) {
    const std::size_t end = min((unit + 1) * cuda::piece_unit, count);
    for (std::size_t begin = unit * cuda::piece_unit; begin < end; begin += spread_rows) {
      const unsigned some = static_cast<unsigned>(min(std::size_t{spread_rows}, end - begin));
      __syncthreads();  // the rows before have been read
      for (unsigned i = threadIdx.x; i < spread_rows * columns; i += threads) {
        const unsigned r = i / columns, j = i % columns;
        differences[r][j] = r < some ? static_cast<double>(rows[(begin + r) * columns + j]) - centre[j] : 0.0;
      }
      for (unsigned i = threadIdx.x; i < spread_rows * spread_components / 2; i += threads) {
        const unsigned r = i / (spread_components / 2), word = i % (spread_components / 2), k = k0 + 2 * word;
        double both[2] = {};
        if (r < some && k < components) {
          const auto block = random::philox4x32::block(draw.seed, draw.id, (first + begin + r) * words + k / 2);
          const double weight = weight_of(weights, begin + r);
          const Scalar sum = uniform_sums[begin + r];
#pragma unroll
          for (unsigned half = 0; half < 2; ++half) {
            const double uniform =
                random::open_uniform(block[2 * half] | static_cast<std::uint64_t>(block[2 * half + 1]) << 32);
            if (k + half < components) both[half] = weight * static_cast<double>(static_cast<Scalar>(uniform) / sum);
          }
        }
        shares[r][2 * word] = both[0];
        shares[r][2 * word + 1] = both[1];
      }
      __syncthreads();
      for (unsigned i = threadIdx.x; i < spread_rows * pitch; i += threads) {
        const unsigned r = i / pitch, p = i % pitch;
        double feature = 1;
        if (p >= 1) feature = p <= columns ? differences[r][p - 1] : 0;
        if (p > columns && p < size) feature = differences[r][left[p]] * differences[r][right[p]];
        features[r][p] = feature;
      }
      __syncthreads();
#pragma unroll 4
      for (unsigned r = 0; r < spread_rows; ++r) {
        double share[warp_components];
#pragma unroll
        for (unsigned c = 0; c < warp_components; ++c) share[c] = shares[r][warp * warp_components + c];
#pragma unroll
        for (unsigned o = 0; o < Own; ++o) {
          const double feature = features[r][o * 32 + lane];
#pragma unroll
          for (unsigned c = 0; c < warp_components; ++c) sums[c][o] += share[c] * feature;
        }
      }
    }
  }
  visit_own([](const double& sum, double& kept) { kept = sum; });
}

// Element `at` of a component's sums, all lanes of it one after the other.
__device__ double sum_of_lanes(const double* lanes, const given_shape& shape, std::size_t at) {
  double sum = 0;
#pragma unroll 8
  for (std::size_t lane = 0; lane < shape.lanes; ++lane) sum += lanes[lane * shape.lane_size() + at];
  return sum;
}

// A block has a row of a component's triangle of (x − c, 1), full; S and W of a component, tied; all of a component,
// others.
__global__ void __launch_bounds__(threads)
    merge_kernel(const double* lanes, given_shape shape, kernel_layout layout, double* statistics) {
  const std::size_t d = shape.columns, from = blockIdx.x * shape.component_size();
  double* const to = statistics + layout.header + blockIdx.x * layout.component_size;
  if (layout.type == covariance_type::full) {
    const std::size_t i = blockIdx.y, row = statistics_layout::triangle_row(d + 1, i);
    for (std::size_t j = i + threadIdx.x; j <= d; j += threads) {
      const std::size_t at = j < d ? 1 + d + pair_place(i, j, d) : (i < d ? 1 + i : 0);
      to[row + j] = sum_of_lanes(lanes, shape, from + at);
    }
  } else if (layout.type == covariance_type::tied) {
    for (std::size_t j = threadIdx.x; j <= d; j += threads)
      to[j] = sum_of_lanes(lanes, shape, from + (j < d ? 1 + j : 0));
  } else {
    for (std::size_t at = threadIdx.x; at < shape.component_size(); at += threads)
      to[at] = sum_of_lanes(lanes, shape, from + at);
  }
}

// The triangle that tied components share: of a lane all components, then the next.
__global__ void __launch_bounds__(threads)
    merge_shared_kernel(const double* lanes, given_shape shape, double* triangle) {
  const std::size_t at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  if (at >= shape.second_size()) return;
  const double* from = lanes + 1 + shape.columns + at;
  const std::size_t parts = shape.lanes * shape.components;
  double sum = 0;
#pragma unroll 8
  for (std::size_t part = 0; part < parts; ++part) sum += from[part * shape.component_size()];
  triangle[at] = sum;
}

// A thread has a row and two components.
template <class Scalar>
__global__ void __launch_bounds__(threads)
    write_random_kernel(const Scalar* weights, std::size_t first, std::size_t count, random_responsibilities draw,
                        unsigned components, const Scalar* uniform_sums, double* values, std::size_t stride) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const unsigned words = words_of(components), k = 2 * blockIdx.y;
  const auto block = random::philox4x32::block(draw.seed, draw.id, (first + i) * words + blockIdx.y);
  const double weight = weight_of(weights, i);
#pragma unroll
  for (unsigned half = 0; half < 2; ++half) {
    if (k + half >= components) break;
    const double uniform =
        random::open_uniform(block[2 * half] | static_cast<std::uint64_t>(block[2 * half + 1]) << 32);
    values[(k + half) * stride + i] = weight * static_cast<double>(static_cast<Scalar>(uniform) / uniform_sums[i]);
  }
}

constexpr unsigned known_together = 32;  // components that a thread copies

template <class Scalar>
__global__ void __launch_bounds__(threads)
    write_known_kernel(const Scalar* weights, std::size_t count, unsigned components, const Scalar* responsibilities,
                       double* values, std::size_t stride) {
  const std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= count) return;
  const double weight = weight_of(weights, i);
  const unsigned begin = blockIdx.y * known_together, end = min(begin + known_together, components);
  for (unsigned k = begin; k < end; ++k)
    values[k * stride + i] = weight * static_cast<double>(responsibilities[i * components + k]);
}

unsigned row_blocks(std::size_t rows) { return static_cast<unsigned>((rows + threads - 1) / threads); }

// A block has a component, a lane and a tile of the pairs of columns.
dim3 grid_of(const given_shape& shape) {
  const unsigned wide = tiles_of(shape.columns);
  return dim3(static_cast<unsigned>(shape.components), static_cast<unsigned>(shape.lanes),
              shape.pairs ? wide * (wide + 1) / 2 : wide);
}

// Enough for an NVIDIA H200's multiprocessors, with four blocks each, to have several in turn.
constexpr std::size_t wanted_blocks = 2112;

unsigned spread_blocks(std::size_t components) {
  return static_cast<unsigned>((components + spread_components - 1) / spread_components);
}

}  // namespace

std::size_t lanes_of(const given_shape& shape, std::size_t rows, bool spread) {
  const dim3 grid = grid_of(shape);
  const std::size_t blocks = spread ? spread_blocks(shape.components) : std::size_t{grid.x} * grid.z;
  const std::size_t wanted = std::max(usual_lanes, (wanted_blocks + blocks - 1) / blocks);
  const std::size_t units = std::max<std::size_t>(1, (rows + cuda::piece_unit - 1) / cuda::piece_unit);
  const std::size_t affordable = std::max<std::size_t>(1, lane_memory / (shape.lane_size() * sizeof(double)));
  return std::min({wanted, units, affordable});
}

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
void add_random_together(const cuda::device_piece<Scalar>& piece, const random_responsibilities& draw,
                         const double* centre, const given_shape& shape, Scalar* uniform_sums, double* lanes,
                         cudaStream_t stream) {
  uniform_sums_kernel<<<row_blocks(piece.count), threads, 0, stream>>>(
      draw, piece.first, piece.count, static_cast<unsigned>(shape.components), uniform_sums);
  cuda::check_launch("add_random_together");
  const dim3 grid(spread_blocks(shape.components), static_cast<unsigned>(shape.lanes));
  const std::size_t features = (shape.component_size() + 31) / 32;
  const auto kernel = features == 1   ? spread_kernel<1, Scalar>
                      : features == 2 ? spread_kernel<2, Scalar>
                      : features == 3 ? spread_kernel<3, Scalar>
                                      : spread_kernel<5, Scalar>;
  kernel<<<grid, threads, 0, stream>>>(piece.rows, piece.weights, piece.first, piece.share_first, piece.count, draw,
                                       uniform_sums, centre, shape, lanes);
  cuda::check_launch("add_random_together");
}

template <class Scalar>
void add_known(const cuda::device_piece<Scalar>& piece, const Scalar* responsibilities, const double* centres,
               const given_shape& shape, double* lanes, cudaStream_t stream) {
  known_kernel<<<grid_of(shape), threads, 0, stream>>>(piece.rows, piece.weights, piece.share_first, piece.count,
                                                       responsibilities, centres, shape, lanes);
  cuda::check_launch("add_known");
}

void merge_given(const double* lanes, const given_shape& shape, const kernel_layout& layout, double* statistics,
                 cudaStream_t stream) {
  const unsigned triangle_rows = layout.type == covariance_type::full ? layout.columns + 1 : 1;
  merge_kernel<<<dim3(layout.components, triangle_rows), threads, 0, stream>>>(lanes, shape, layout, statistics);
  cuda::check_launch("merge_given");
  if (layout.type != covariance_type::tied) return;
  merge_shared_kernel<<<row_blocks(shape.second_size()), threads, 0, stream>>>(lanes, shape,
                                                                               statistics + layout.shared);
  cuda::check_launch("merge_given");
}

template <class Scalar>
void write_random(const tensor_float64::row_chunk<Scalar>& chunk, std::size_t first, std::size_t components,
                  const random_responsibilities& draw, Scalar* uniform_sums, double* values, std::size_t stride,
                  cudaStream_t stream) {
  const auto number = static_cast<unsigned>(components);
  const unsigned blocks = row_blocks(chunk.count);
  uniform_sums_kernel<<<blocks, threads, 0, stream>>>(draw, first, chunk.count, number, uniform_sums);
  cuda::check_launch("write_random");
  write_random_kernel<<<dim3(blocks, words_of(components)), threads, 0, stream>>>(
      chunk.weights, first, chunk.count, draw, number, uniform_sums, values, stride);
  cuda::check_launch("write_random");
}

template <class Scalar>
void write_known(const tensor_float64::row_chunk<Scalar>& chunk, std::size_t components, const Scalar* responsibilities,
                 double* values, std::size_t stride, cudaStream_t stream) {
  const auto number = static_cast<unsigned>(components);
  write_known_kernel<<<dim3(row_blocks(chunk.count), (number + known_together - 1) / known_together), threads, 0,
                       stream>>>(chunk.weights, chunk.count, number, responsibilities, values, stride);
  cuda::check_launch("write_known");
}

template void write_random(const tensor_float64::row_chunk<float>&, std::size_t, std::size_t,
                           const random_responsibilities&, float*, double*, std::size_t, cudaStream_t);
template void write_random(const tensor_float64::row_chunk<double>&, std::size_t, std::size_t,
                           const random_responsibilities&, double*, double*, std::size_t, cudaStream_t);
template void write_known(const tensor_float64::row_chunk<float>&, std::size_t, const float*, double*, std::size_t,
                          cudaStream_t);
template void write_known(const tensor_float64::row_chunk<double>&, std::size_t, const double*, double*, std::size_t,
                          cudaStream_t);
template void add_labelled(const cuda::device_piece<float>&, const std::int32_t*, const double*, const given_shape&,
                           double*, cudaStream_t);
template void add_labelled(const cuda::device_piece<double>&, const std::int32_t*, const double*, const given_shape&,
                           double*, cudaStream_t);
template void add_random(const cuda::device_piece<float>&, const random_responsibilities&, const double*,
                         const given_shape&, float*, double*, cudaStream_t);
template void add_random(const cuda::device_piece<double>&, const random_responsibilities&, const double*,
                         const given_shape&, double*, double*, cudaStream_t);
template void add_random_together(const cuda::device_piece<float>&, const random_responsibilities&, const double*,
                                  const given_shape&, float*, double*, cudaStream_t);
template void add_random_together(const cuda::device_piece<double>&, const random_responsibilities&, const double*,
                                  const given_shape&, double*, double*, cudaStream_t);
template void add_known(const cuda::device_piece<float>&, const float*, const double*, const given_shape&, double*,
                        cudaStream_t);
template void add_known(const cuda::device_piece<double>&, const double*, const double*, const given_shape&, double*,
                        cudaStream_t);

}  // namespace shoal::gmm
