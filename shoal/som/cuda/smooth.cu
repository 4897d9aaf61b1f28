// Smoothing over the lattice and the move of the units, in float64.
//
// Along one direction of the lattice, smoothing is a product with a matrix whose elements depend on the difference of
// their places alone. A gaussian is a product of one along the rows of the map and one across them, a mexican hat the
// sum of two such products; its Σ|h|·n, of one column, is summed as it is. On a hexagonal
// lattice odd rows stand half a column aside: along the rows everything is smoothed twice, for targets in rows of the
// same parity and of the other, and across them each target takes what fits. Elsewhere every pair of rows of the map
// has its own matrix along them.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int across = 16;  // columns of a block: neighbouring threads
constexpr int groups = 16;  // of targets
constexpr int each = 8;     // targets of a thread
constexpr int block_targets = groups * each;
constexpr int depth = 64;  // sources in shared memory at a time
constexpr int threads = across * groups;
constexpr int window = block_targets + depth;  // differences of places that a block needs at a time

// A table holds h, or a factor of it, for every difference target − source: 2n − 1 of them. There are
//   of each product, along the rows of the map, [same parity, target even, target odd] (rectangular: the first alone);
//   of each product, across them;
//   and where there are no products or |h| is wanted, for each offset of rows, [target even, target odd] (rectangular:
//   one).
struct table_counts {
  int parities;  // tables along the rows of a product
  int along, across, offsets;
  std::size_t width, height;  // of a table

  __host__ __device__ explicit table_counts(const smoothing& in)
      : parities(in.hexagonal() ? 3 : 1),
        along(in.products() * parities),
        across(in.products()),
        offsets(in.products() == 0 || !neighborhood_function{in.kind, 0, 0}.never_negative()
                    ? static_cast<int>(in.shape.height) * (in.hexagonal() ? 2 : 1)
                    : 0),
        width(2 * std::size_t{in.shape.width} - 1),
        height(2 * std::size_t{in.shape.height} - 1) {}
  __host__ __device__ std::size_t along_at(int product, int parity) const {
    return static_cast<std::size_t>(product * parities + parity) * width;
  }
  __host__ __device__ std::size_t across_at(int product) const {
    return static_cast<std::size_t>(along) * width + static_cast<std::size_t>(product) * height;
  }
  __host__ __device__ std::size_t offset_at(std::size_t offset) const { return across_at(across) + offset * width; }
  __host__ __device__ std::size_t size() const { return offset_at(static_cast<std::size_t>(offsets)); }
};

// δ² along the rows of the map between columns that differ by so much, target − source.
__device__ double squared_along(const smoothing& in, int difference, bool odd_rows, bool target_odd) {
  const auto column = static_cast<std::uint32_t>(difference < 0 ? 0 : difference);
  const auto source = static_cast<std::uint32_t>(difference < 0 ? -difference : 0);
  const std::uint32_t columns =
      column_offset(in.shape, column, odd_rows && target_odd, source, odd_rows && !target_odd);
  return squared_column_distance(in.shape, {odd_rows ? 1u : 0u, columns});
}

__global__ void fill_tables_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  const neighborhood_function h{in.kind, in.radii[*in.epoch], in.cutoff};
  const table_counts tables(in);
  const std::size_t across = tables.across_at(0), offsets = tables.offset_at(0), size = tables.size();
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < size;
       i += std::size_t{gridDim.x} * blockDim.x) {
    if (i >= across && i < offsets) {
      const auto product = static_cast<int>((i - across) / tables.height);
      const int difference = static_cast<int>((i - across) % tables.height) - static_cast<int>(in.shape.height) + 1;
      const auto apart = static_cast<std::uint32_t>(difference < 0 ? -difference : difference);
      in.tables[i] = h.factor(product, true, squared_row_distance(in.shape, {row_offset(in.shape, apart, 0), 0}));
      continue;
    }
    const std::size_t of_kind = i < across ? i : i - offsets;
    const auto table = static_cast<int>(of_kind / tables.width);
    const int difference = static_cast<int>(of_kind % tables.width) - static_cast<int>(in.shape.width) + 1;
    if (i < across) {
      const int parity = table % tables.parities;
      in.tables[i] = h.factor(table / tables.parities, false, squared_along(in, difference, parity > 0, parity == 2));
    } else {
      const auto row = static_cast<std::uint32_t>(in.hexagonal() ? table / 2 : table);
      const bool odd = in.hexagonal() && row % 2 != 0;
      in.tables[i] = h(squared_along(in, difference, odd, table % 2 != 0) + squared_row_distance(in.shape, {row, 0}));
    }
  }
}

// Shared memory of a block: sources, those of the other parity, and h of the differences.
template <bool Parities>
struct block_memory {
  double sources[Parities ? 2 : 1][depth][across];
  double h[window];
};

// Whether a neighbourhood reaches from any of eight sources to any of a thread's targets. Adding zeros changes no bit.
__device__ bool reaches(const double (&h)[each + 7]) {
  unsigned bits = 0;
#pragma unroll
  for (const double one : h) bits |= static_cast<unsigned>(__double2hiint(one) | __double2loint(one));
  return bits != 0;
}

// sums[r] += Σ_k h(target − k) · source k, for targets first + r and the sources of one table; `Ends`: far ones are
// passed by.
template <bool Parities, bool Ends = false>
__device__ void add_sources(block_memory<Parities>& memory, double (&sums)[each], const double* table, int length,
                            const double* same, const double* other, std::size_t stride, std::size_t columns,
                            int first_target, std::size_t first_column) {
  const int column = threadIdx.x % across, group = threadIdx.x / across;
  const bool there = first_column + column < columns;
  for (int start = 0; start < length; start += depth) {
    __syncthreads();
    for (int k = group; k < depth; k += groups) {
      const bool real = there && start + k < length;
      const std::size_t place = static_cast<std::size_t>(start + k) * stride + first_column + column;
      memory.sources[0][k][column] = real ? same[place] : 0.0;
      if constexpr (Parities) memory.sources[1][k][column] = real ? other[place] : 0.0;
    }
    // h[i] is that of the difference first_target − start − depth + 1 + i.
    for (int i = threadIdx.x; i < window; i += threads) {
      const int difference = first_target - start - depth + 1 + i, at = difference + length - 1;
      memory.h[i] = at >= 0 && at < 2 * length - 1 ? table[at] : 0.0;
    }
    __syncthreads();
    if (first_target + group * each >= length) continue;  // no target of the thread is there
#pragma unroll 1
    for (int k = 0; k < min(depth, length - start); k += 8) {
      double h[each + 7], source[8], shifted[8];
#pragma unroll
      for (int i = 0; i < each + 7; ++i) h[i] = memory.h[group * each + depth - 1 - (k + 7) + i];
      if constexpr (Ends) {
        if (!reaches(h)) continue;
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        source[i] = memory.sources[0][k + i][column];
        if constexpr (Parities) shifted[i] = memory.sources[1][k + i][column];
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int r = 0; r < each; ++r) {
          // Blocks, threads and sources start at even places.
          const bool differ = Parities && (r + i) % 2 != 0;
          sums[r] = fma(h[r - i + 7], differ ? shifted[i] : source[i], sums[r]);
        }
      }
    }
  }
}

__device__ void write_targets(const double (&sums)[each], double* to, int length, std::size_t stride,
                              std::size_t columns, int first_target, std::size_t first_column) {
  const std::size_t column = first_column + threadIdx.x % across;
  if (column >= columns) return;
#pragma unroll
  for (int r = 0; r < each; ++r) {
    const int target = first_target + static_cast<int>(threadIdx.x) / across * each + r;
    if (target < length) to[static_cast<std::size_t>(target) * stride + column] = sums[r];
  }
}

// Along the rows of the map: blocks are [rows of the map, target tiles][column tiles][products][1, or 2 for the other
// parity].
__global__ void __launch_bounds__(threads) along_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  __shared__ block_memory<false> memory;
  const std::size_t columns = in.columns + 1, first_column = std::size_t{blockIdx.y} * across;
  const int width = static_cast<int>(in.shape.width), target_tiles = (width + block_targets - 1) / block_targets;
  const int first_target = static_cast<int>(blockIdx.x) % target_tiles * block_targets;
  const auto row = static_cast<std::uint32_t>(static_cast<int>(blockIdx.x) / target_tiles);
  const int parities = in.hexagonal() ? 2 : 1, product = static_cast<int>(blockIdx.z) / parities;
  const bool same = static_cast<int>(blockIdx.z) % parities == 0;
  const int table = same ? 0 : row % 2 != 0 ? 1 : 2;  // an odd row's targets of the other parity are even
  const double* const from = in.statistics + std::size_t{row} * width * columns;
  double sums[each] = {};
  add_sources<false>(memory, sums, in.tables + table_counts(in).along_at(product, table), width, from, nullptr, columns,
                     columns, first_target, first_column);
  double* const to = in.along + (std::size_t{blockIdx.z} * in.shape.units() + std::size_t{row} * width) * columns;
  write_targets(sums, to, width, columns, columns, first_target, first_column);
}

// Across them: every place of a row is a column.
template <bool Hexagonal>
__global__ void __launch_bounds__(threads) across_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  __shared__ block_memory<Hexagonal> memory;
  const std::size_t stride = std::size_t{in.shape.width} * (in.columns + 1), all = in.shape.height * stride;
  const std::size_t first_column = std::size_t{blockIdx.x} * across;
  const int height = static_cast<int>(in.shape.height), first_target = static_cast<int>(blockIdx.y) * block_targets;
  double sums[each] = {};
  for (int product = 0; product < in.products(); ++product) {
    const double* const from = in.along + static_cast<std::size_t>(product) * (Hexagonal ? 2 : 1) * all;
    add_sources<Hexagonal>(memory, sums, in.tables + table_counts(in).across_at(product), height, from, from + all,
                           stride, stride, first_target, first_column);
  }
  write_targets(sums, in.smoothed, height, stride, stride, first_target, first_column);
}

// Any neighbourhood: every row of the map takes from every other.
__global__ void __launch_bounds__(threads) dense_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  __shared__ block_memory<false> memory;
  __shared__ bool any;
  const std::size_t places = in.columns + 1, first_column = std::size_t{blockIdx.y} * across;
  const int width = static_cast<int>(in.shape.width), target_tiles = (width + block_targets - 1) / block_targets;
  const int first_target = static_cast<int>(blockIdx.x) % target_tiles * block_targets;
  const auto row = static_cast<std::uint32_t>(static_cast<int>(blockIdx.x) / target_tiles);
  const table_counts tables(in);
  double sums[each] = {};
  for (std::uint32_t other = 0; other < in.shape.height; ++other) {
    const std::uint32_t apart = row_offset(in.shape, row, other);
    const double* const table = in.tables + tables.offset_at(in.hexagonal() ? 2 * apart + row % 2 : apart);
    // Rows beyond the neighbourhood take no part.
    __syncthreads();
    if (threadIdx.x == 0) any = false;
    __syncthreads();
    for (std::size_t i = threadIdx.x; i < tables.width; i += threads) {
      if (table[i] != 0) any = true;
    }
    __syncthreads();
    if (!any) continue;
    const double* const from = in.statistics + std::size_t{other} * width * places;
    add_sources<false, true>(memory, sums, table, width, from, nullptr, places, places, first_target, first_column);
  }
  write_targets(sums, in.smoothed + std::size_t{row} * width * places, width, places, places, first_target,
                first_column);
}

// Σ|h|·n of any neighbourhood: neighbouring threads take sources of rows of the map that lie so many rows apart, above
// and below together. Blocks of the same targets share the rows between them, which keeps the GPU busy where targets
// are few; move_kernel() adds their parts.
constexpr int pull_rows = across;

__host__ __device__ std::size_t pull_parts(const smoothing& in) {
  const std::uint32_t height = in.shape.height;
  return (in.shape.toroidal ? height / 2 : height - 1) / pull_rows + 1;
}

__global__ void __launch_bounds__(threads) pull_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  __shared__ double h[pull_rows][window + 1];
  __shared__ double sources[pull_rows][depth + 1];
  const int lane = threadIdx.x % pull_rows, group = threadIdx.x / pull_rows;
  const int width = static_cast<int>(in.shape.width), target_tiles = (width + block_targets - 1) / block_targets;
  const int height = static_cast<int>(in.shape.height);
  const int first_target = static_cast<int>(blockIdx.x) % target_tiles * block_targets;
  const int row = static_cast<int>(blockIdx.x) / target_tiles;
  const int most_apart = in.shape.toroidal ? height / 2 : max(row, height - 1 - row);
  const table_counts tables(in);
  const auto hits = [&](int of_row, int column) {
    if (in.shape.toroidal) of_row = (of_row + height) % height;
    if (of_row < 0 || of_row >= height) return 0.0;
    return in.statistics[(static_cast<std::size_t>(of_row) * width + column) * (in.columns + 1) + in.columns];
  };
  double sums[each] = {};
  const int first_apart = static_cast<int>(blockIdx.y) * pull_rows;
  if (first_apart <= most_apart) {
    for (int start = 0; start < width; start += depth) {
      __syncthreads();
      for (int i = threadIdx.x; i < pull_rows * depth; i += threads) {
        const int apart = first_apart + i / depth, column = start + i % depth;
        double source = 0;
        if (apart <= most_apart && column < width) {
          source = hits(row + apart, column);
          if (apart > 0 && !(in.shape.toroidal && 2 * apart == height)) source += hits(row - apart, column);
        }
        sources[i / depth][i % depth] = source;
      }
      // As in add_sources().
      for (int i = threadIdx.x; i < pull_rows * window; i += threads) {
        const int apart = first_apart + i / window, at = first_target - start - depth + i % window + width;
        double value = 0;
        if (apart <= most_apart && at >= 0 && at < 2 * width - 1) {
          value = in.tables[tables.offset_at(static_cast<std::size_t>(in.hexagonal() ? 2 * apart + row % 2 : apart)) +
                            static_cast<std::size_t>(at)];
        }
        h[i / window][i % window] = fabs(value);
      }
      __syncthreads();
#pragma unroll 1
      for (int k = 0; k < depth; k += 8) {
        double near[each + 7], source[8];
#pragma unroll
        for (int i = 0; i < each + 7; ++i) near[i] = h[lane][group * each + depth - 1 - (k + 7) + i];
#pragma unroll
        for (int i = 0; i < 8; ++i) source[i] = sources[lane][k + i];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
          for (int r = 0; r < each; ++r) sums[r] = fma(near[r - i + 7], source[i], sums[r]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < each; ++r) {
    for (int step = pull_rows / 2; step > 0; step /= 2) sums[r] += __shfl_xor_sync(~0u, sums[r], step);
    const int target = first_target + group * each + r;
    if (lane == 0 && target < width) {
      in.pull[blockIdx.y * in.shape.units() + static_cast<std::size_t>(row) * width + target] = sums[r];
    }
  }
}

__global__ void move_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  const std::size_t columns = in.columns, count = in.shape.units() * columns;
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) {
    // A division of short numbers takes a fraction of the other's time.
    const std::size_t unit = count >> 32 == 0 ? static_cast<unsigned>(i) / static_cast<unsigned>(columns) : i / columns;
    const std::size_t j = i - unit * columns;
    const double* const smoothed = in.smoothed + unit * (columns + 1);
    const double weight = smoothed[columns], centre = in.centre[j];
    double pull = weight;
    if (in.pull != nullptr) {
      pull = in.pull[unit];
      for (std::size_t part = 1; part < pull_parts(in); ++part) pull += in.pull[part * in.shape.units() + unit];
    }
    if (in.kept != nullptr) in.kept[i] = in.codebook[i];
    if (pull >= least_pull) {
      const double before = in.pull == nullptr && in.rate == 1 ? 0 : in.codebook[i];
      // Where nothing is negative the place itself, so that it does not depend on where the unit was.
      const double place =
          in.pull == nullptr ? centre + smoothed[j] / pull : before + (smoothed[j] - weight * (before - centre)) / pull;
      const double moved = in.rate == 1 ? place : before + in.rate * (place - before);
      in.codebook[i] = moved;
      if (in.kept != nullptr && !isfinite(moved)) *in.not_finite = 1;
    }
  }
  if (i == 0) {  // no other thread asks for the epoch
    in.history[*in.epoch] = in.statistics[in.shape.units() * (columns + 1)];
    ++*in.epoch;
  }
}

unsigned blocks_for(std::size_t count, std::size_t of_block) {
  return static_cast<unsigned>((count + of_block - 1) / of_block);
}

}  // namespace

std::size_t smoothing::table_doubles() const { return table_counts(*this).size(); }
std::size_t smoothing::along_doubles() const {
  return static_cast<std::size_t>(products()) * (hexagonal() ? 2 : 1) * shape.units() * (columns + 1);
}
std::size_t smoothing::pull_doubles() const {
  return neighborhood_function{kind, 0, 0}.never_negative() ? 0 : pull_parts(*this) * shape.units();
}

void smooth_and_move(const smoothing& all, cudaStream_t stream) {
  if (are_few_to_smooth(all)) return smooth_few_units(all, stream);
  const std::size_t places = all.columns + 1;
  const unsigned target_tiles = blocks_for(all.shape.width, block_targets);
  cuda::launch_in_turn(fill_tables_kernel, blocks_for(all.table_doubles(), 256), 256, 0, stream, all);
  if (all.products() > 0) {
    const dim3 along(target_tiles * all.shape.height, blocks_for(places, across),
                     static_cast<unsigned>(all.products() * (all.hexagonal() ? 2 : 1)));
    cuda::launch_in_turn(along_kernel, along, threads, 0, stream, all);
    const dim3 over(blocks_for(all.shape.width * places, across), blocks_for(all.shape.height, block_targets));
    cuda::launch_in_turn(all.hexagonal() ? across_kernel<true> : across_kernel<false>, over, threads, 0, stream, all);
  } else {
    const dim3 blocks(target_tiles * all.shape.height, blocks_for(places, across));
    cuda::launch_in_turn(dense_kernel, blocks, threads, 0, stream, all);
  }
  if (all.pull != nullptr) {
    const dim3 blocks(target_tiles * all.shape.height, static_cast<unsigned>(pull_parts(all)));
    cuda::launch_in_turn(pull_kernel, blocks, threads, 0, stream, all);
  }
  cuda::launch_in_turn(move_kernel, blocks_for(all.shape.units() * all.columns, 256), 256, 0, stream, all);
}

}  // namespace shoal::som
