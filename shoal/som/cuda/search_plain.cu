// Distances of rows to all units on the arithmetic units, for every metric and shape: tiles of rows against tiles of
// units, of which a thread keeps a square in registers. Of a row's distances in a tile only the least leaves the block.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/distance.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int across = 16, down = 16;  // threads of a block
constexpr int threads = across * down;
constexpr int half_units = 4;  // units of a thread in each of the block's two tiles
constexpr int block_tiles = 2;
constexpr int block_units = block_tiles * unit_tile;
constexpr int depth = 16;  // columns in shared memory at a time

// Rows of a thread: as many as have registers.
template <class Scalar>
constexpr int each_rows = sizeof(Scalar) == 4 ? 8 : 4;
template <class Scalar>
constexpr int block_rows_of = down* each_rows<Scalar>;

template <class Scalar>
struct alignas(4 * sizeof(Scalar)) four {
  Scalar values[4];
};

template <class Scalar, metric Metric>
__global__ void __launch_bounds__(threads)
    search_kernel(searched_rows<Scalar> rows, device_units<Scalar> units, int splits) {
  cuda::wait_for_predecessor();
  constexpr int each = each_rows<Scalar>, rows_here = block_rows_of<Scalar>;
  __shared__ __align__(32) Scalar row_tile[depth][rows_here + 4];
  __shared__ __align__(32) Scalar unit_tiles[depth][block_units];
  const int columns = units.columns, tiles = units.padded / unit_tile;
  const int right = threadIdx.x % across, below = threadIdx.x / across;
  const int first_row = static_cast<int>(blockIdx.x) / splits * rows_here,
            split = static_cast<int>(blockIdx.x) % splits;
  const int pairs = tiles / block_tiles;
  const int begin = block_tiles * (pairs * split / splits), end = block_tiles * (pairs * (split + 1) / splits);

  for (int tile = begin; tile < end; tile += block_tiles) {
    Scalar sums[each][block_tiles * half_units] = {};
    for (int start = 0; start < columns; start += depth) {
      __syncthreads();
      if (tile == begin || columns > depth) {
        for (int i = threadIdx.x; i < rows_here * depth; i += threads) {
          const int j = start + i % depth, row = first_row + i / depth;
          Scalar x{0};
          if (j < columns && row < rows.count) {
            x = rows.rows[static_cast<std::size_t>(row) * columns + j];
            if (Metric != metric::cosine) x -= units.centre[j];
          }
          row_tile[i % depth][i / depth] = x;
        }
      }
      for (int i = threadIdx.x; i < block_units / 4 * depth; i += threads) {
        const int j = start + i / (block_units / 4), k = i % (block_units / 4) * 4;
        four<Scalar> some{};
        if (j < columns) {
          some = *reinterpret_cast<const four<Scalar>*>(units.turned + static_cast<std::size_t>(j) * units.padded +
                                                        tile * unit_tile + k);
        }
        *reinterpret_cast<four<Scalar>*>(&unit_tiles[i / (block_units / 4)][k]) = some;
      }
      __syncthreads();
      const int count = min(depth, columns - start);
#pragma unroll 2
      for (int j = 0; j < count; ++j) {
        Scalar x[each], c[block_tiles * half_units];
#pragma unroll
        for (int part = 0; part < each; part += 4) {
          const auto some = *reinterpret_cast<const four<Scalar>*>(&row_tile[j][below * each + part]);
#pragma unroll
          for (int v = 0; v < 4; ++v) x[part + v] = some.values[v];
        }
#pragma unroll
        for (int part = 0; part < block_tiles; ++part) {
          const auto some = *reinterpret_cast<const four<Scalar>*>(&unit_tiles[j][part * unit_tile + right * 4]);
#pragma unroll
          for (int v = 0; v < 4; ++v) c[4 * part + v] = some.values[v];
        }
#pragma unroll
        for (int a = 0; a < each; ++a) {
#pragma unroll
          for (int b = 0; b < block_tiles * half_units; ++b) sums[a][b] = add_column<Metric>(sums[a][b], x[a], c[b]);
        }
      }
    }
#pragma unroll
    for (int part = 0; part < block_tiles; ++part) {
      const int first_place = (tile + part) * unit_tile + right * 4;
#pragma unroll
      for (int a = 0; a < each; ++a) {
        Scalar least = std::numeric_limits<Scalar>::infinity();
#pragma unroll
        for (int v = 0; v < half_units; ++v) {
          const Scalar distance = sums[a][part * half_units + v];
          if (first_place + v < units.units) least = distance < least ? distance : least;
        }
#pragma unroll
        for (int step = 1; step < across; step *= 2) {
          const Scalar other = __shfl_xor_sync(~0u, least, step);
          least = other < least ? other : least;
        }
        const int row = first_row + below * each + a;
        if (right == 0 && row < rows.count) rows.minima[static_cast<std::size_t>(row) * tiles + tile + part] = least;
      }
    }
  }
}

template <class Scalar, metric Metric>
void launch(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, std::size_t multiprocessors,
            cudaStream_t stream) {
  const int row_tiles = (rows.count + block_rows_of<Scalar> - 1) / block_rows_of<Scalar>;
  // So many blocks that the last ones to end are few among all.
  const int wanted = 16 * static_cast<int>(multiprocessors);
  const int splits = std::clamp(wanted / row_tiles, 1, units.padded / unit_tile / block_tiles);
  cuda::launch_in_turn(search_kernel<Scalar, Metric>, static_cast<unsigned>(row_tiles) * static_cast<unsigned>(splits),
                       threads, 0, stream, rows, units, splits);
}

}  // namespace

template <class Scalar>
void search_plain(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, std::size_t multiprocessors,
                  cudaStream_t stream) {
  switch (units.metric) {
    case metric::euclidean:
      return launch<Scalar, metric::euclidean>(rows, units, multiprocessors, stream);
    case metric::taxicab:
      return launch<Scalar, metric::taxicab>(rows, units, multiprocessors, stream);
    case metric::cosine:
      return launch<Scalar, metric::cosine>(rows, units, multiprocessors, stream);
    case metric::chebyshev:
      return launch<Scalar, metric::chebyshev>(rows, units, multiprocessors, stream);
  }
}
template void search_plain(const searched_rows<float>&, const device_units<float>&, std::size_t, cudaStream_t);
template void search_plain(const searched_rows<double>&, const device_units<double>&, std::size_t, cudaStream_t);

}  // namespace shoal::som
