// The nearest centroid on Hopper's tensor cores: rows stay in registers as the left operand of wgmma, tiles of
// centroids stream through shared memory, and each thread keeps the least scores of its columns.
//
// Products are of TF32 numbers, so a score is only known to within a bound that is computed for each row from what
// rounding to TF32 really lost; a row whose least scores are closer than that is left to the float64 definition. In the
// rougher precisions the least score decides.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/search_tensor.cuh>
#include <shoal/kmeans/cuda/tensor_layout.hpp>
#include <shoal/nearest/cuda/doubt.cuh>
#include <shoal/nearest/cuda/least_keys.cuh>

namespace shoal::kmeans {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int group_rows = 64;
// Warpgroups of a block, each on rows of its own: as many as have registers for rows of so many chunks of 16 columns,
// and for the next ones where these come early.
constexpr int groups_for(int chunks, precision precision) {
  if (chunks == 1) return 5;
  return chunks <= (precision == precision::bf16 ? 6 : 4) ? 4 : 3;
}
constexpr bool comes_early(int chunks) { return chunks <= 2; }
constexpr int lag = 2;  // tiles before a block's first thread replaces one that all warpgroups have seen
struct tensor_arguments {
  cuda::device_piece<float> piece;
  device_centroids<float> centroids;
  std::int32_t* labels;
  doubtful_rows doubtful;
  int tiles;     // of centroids
  int stages;    // tiles in shared memory; all of them when stages == tiles
  bool aligned;  // rows may be read 16 bytes at a time
  const int* stopped;
};

// Whole: a row has 16·Chunks columns. Columns beyond the last are zero.
template <int Chunks, bool Whole>
__device__ void read_rows(const tensor_arguments& in, const std::size_t (&rows)[2], int column, row_parts<Chunks>& to) {
  const int columns = Whole ? 16 * Chunks : in.centroids.columns;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float* from = in.piece.rows + rows[half] * columns + column;
#pragma unroll
    for (int c = 0; c < Chunks; ++c) {
      float4& x = to[half][c];
      if constexpr (Whole) {
        x = __ldcs(reinterpret_cast<const float4*>(from + 16 * c));
        continue;
      }
      const int there = columns - column - 16 * c;
      x = make_float4(0, 0, 0, 0);
      if (in.aligned) {
        if (there > 0) x = __ldcs(reinterpret_cast<const float4*>(from + 16 * c));
      } else {
        if (there > 0) x.x = from[16 * c];
        if (there > 1) x.y = from[16 * c + 1];
        if (there > 2) x.z = from[16 * c + 2];
        if (there > 3) x.w = from[16 * c + 3];
      }
    }
  }
}

// Chunks: of 16 columns.
template <int Chunks, bool Whole, precision Precision>
__device__ void search_rows(const tensor_arguments& in) {
  cuda::wait_for_predecessor();
  if (*in.stopped) return;
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float4 origin[4 * Chunks];
  constexpr int padded_columns = 16 * Chunks, groups = groups_for(Chunks, Precision);
  constexpr unsigned tile_bytes = static_cast<unsigned>(tensor_tile_bytes(padded_columns, Precision));
  constexpr unsigned centroid_bytes = padded_columns * tensor_element(Precision);
  auto* const full = reinterpret_cast<unsigned long long*>(shared + in.stages * tile_bytes);
  unsigned long long* const empty = full + in.stages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < in.stages; ++s) {
      make_barrier(full + s, 1);
      make_barrier(empty + s, 4 * groups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (threadIdx.x < padded_columns) {
    const int j = static_cast<int>(threadIdx.x);
    reinterpret_cast<float*>(origin)[j] = j < in.centroids.columns ? in.centroids.origin[j] : 0.0f;
  }
  __syncthreads();
  constexpr std::size_t block_rows_here = groups * group_rows;
  const auto row_tiles = static_cast<unsigned>((in.piece.count + block_rows_here - 1) / block_rows_here);
  const bool all_stay = in.stages == in.tiles;

  // Tiles of centroids that this block reads, one after another: all of them for each tile of its rows.
  const unsigned row_tiles_here = (row_tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;
  const unsigned reads = all_stay ? in.tiles : row_tiles_here * in.tiles;
  unsigned fetched = 0, fetched_round = 0;
  int fetched_tile = 0, fetched_stage = 0;
  const auto fetch_next = [&] {
    fetch(shared + fetched_stage * tile_bytes,
          static_cast<const unsigned char*>(in.centroids.tensor) + std::size_t(fetched_tile) * tile_bytes, tile_bytes,
          full + fetched_stage);
    ++fetched;
    if (++fetched_tile == in.tiles) fetched_tile = 0;
    if (++fetched_stage == in.stages) fetched_stage = 0, ++fetched_round;
  };
  if (threadIdx.x == 0) {
    while (fetched < reads && fetched < static_cast<unsigned>(in.stages)) fetch_next();
  }

  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest_residual =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001);
  const float largest = sqrtf(largest_norm);
  const unsigned multiplier = key_multiplier(largest_norm);
  const int whole_tiles = in.centroids.clusters / cluster_tile;
  const auto row_of = [&](unsigned row_tile, int half) {
    return row_tile * block_rows_here + group * group_rows + warp * 16 + lane / 4 + 8 * half;
  };
  row_parts<Chunks> parts;
  const auto read = [&](unsigned row_tile) {
    const std::size_t last = in.piece.count - 1;
    read_rows<Chunks, Whole>(in, {min(row_of(row_tile, 0), last), min(row_of(row_tile, 1), last)}, 4 * q, parts);
  };
  int stage = 0;
  unsigned round = 0, seen = 0;
  if (comes_early(Chunks) && blockIdx.x < row_tiles) read(blockIdx.x);
  for (unsigned row_tile = blockIdx.x; row_tile < row_tiles; row_tile += gridDim.x) {
    if constexpr (!comes_early(Chunks)) read(row_tile);
    row_operands<Chunks, Precision> rows;
    rows.set(parts, origin + q);
    if (comes_early(Chunks) && row_tile + gridDim.x < row_tiles) read(row_tile + gridDim.x);
    least_scores least[2];
    float magnitudes[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& norm = rows.norms[half];
      norm += __shfl_xor_sync(~0u, norm, 1);
      norm += __shfl_xor_sync(~0u, norm, 2);
      norm = quick_root(norm) * 1.0001f;
      magnitudes[half] = norm * largest + 0.5f * largest_norm;
    }
    const score_scale scales[2] = {score_scale(magnitudes[0]), score_scale(magnitudes[1])};

    for (int segment = 0; segment < in.tiles; segment += segment_tiles) {
      least_keys<Precision> keys[2];
#pragma unroll
      for (int t = 0; t < segment_tiles; ++t) {
        if (segment + t >= in.tiles) break;
        if (threadIdx.x == 0 && fetched < reads && ++seen > lag) {
          wait(empty + fetched_stage, (fetched_round - 1) & 1);
          fetch_next();
        }
        if (!all_stay || round == 0) wait(full + stage, round & 1);
        const unsigned char* const tile = shared + stage * tile_bytes;
        const auto* const half_norms = reinterpret_cast<const float*>(tile + cluster_tile * centroid_bytes);
        float scores[32];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float2 two = *reinterpret_cast<const float2*>(half_norms + 8 * i + 2 * q);
          scores[4 * i] = two.x + scales[0].offset;
          scores[4 * i + 1] = two.y + scales[0].offset;
          scores[4 * i + 2] = two.x + scales[1].offset;
          scores[4 * i + 3] = two.y + scales[1].offset;
        }
        if (segment + t >= whole_tiles) {
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            const int k = (segment + t) * cluster_tile + i / 4 * 8 + 2 * q + i % 2;
            if (k >= in.centroids.clusters) scores[i] = scales[i / 2 % 2].beyond;
          }
        }
        begin_products();
        const unsigned long long described = describe(shared_address(tile), 8 * centroid_bytes);
#pragma unroll
        for (int s = 0; s < rows.steps; ++s)
          multiply<row_operands<Chunks, Precision>::numbers>(scores, rows.values[s], described + s * (256 >> 4));
        end_products();
        wait_for_products<0>();
        if (!all_stay) {
          // Each warp has read the norms of centroids by itself.
          __syncwarp();
          if (lane == 0) arrive(empty + stage);
        }
        if (++stage == in.stages) stage = 0, ++round;
#pragma unroll
        for (int half = 0; half < 2; ++half) keys[half].take<0>(scores, half, multiplier, t * positions);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto cluster = [&](unsigned key) {
          const auto p = static_cast<int>(key % segment_positions);
          return (segment + p / positions) * cluster_tile + p % positions / 2 * 8 + 2 * q + p % 2;
        };
        const least_keys<Precision>& of = keys[half];
        least[half].take({of.first, of.second, of.third, cluster(of.first), cluster(of.second)});
      }
    }

    // Of the four threads that share two rows, those with odd q finish the second row.
    const bool odd = q % 2 != 0;
    least_scores all = odd ? least[1] : least[0];
    all.take((odd ? least[0] : least[1]).of_lane(1));
    all.take(all.of_lane(2));
    const std::size_t row = row_of(row_tile, odd ? 1 : 0);
    if constexpr (Precision == precision::float32) {
      float residual = (odd ? rows.residuals[1] : rows.residuals[0]) +
                       __shfl_xor_sync(~0u, odd ? rows.residuals[0] : rows.residuals[1], 1);
      residual += __shfl_xor_sync(~0u, residual, 2);
      if (q > 1 || row >= in.piece.count) continue;
      const float unit = odd ? scales[1].unit : scales[0].unit;
      const float error = score_error<Chunks>(odd ? magnitudes[1] : magnitudes[0], odd ? rows.norms[1] : rows.norms[0],
                                              residual, largest, sqrtf(largest_residual), unit);
      const float gap = 2 * error / unit + 1;
      settle_row(least_units(all), gap, static_cast<int>(row), in.labels, in.doubtful);
    } else {
      // Scores that left float32's range may name any place.
      if (q <= 1 && row < in.piece.count) in.labels[row] = min(all.first_cluster, in.centroids.clusters - 1);
    }
  }
}

template <int Chunks, bool Whole, precision Precision>
__global__ void __launch_bounds__(128 * groups_for(Chunks, Precision), 1) search_kernel(tensor_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Chunks, Whole, Precision>(in);
}

template <int Chunks, bool Whole, precision Precision>
void launch(tensor_arguments in, std::size_t multiprocessors, std::size_t shared_bytes, cudaStream_t stream) {
  constexpr std::size_t tile_bytes = tensor_tile_bytes(16 * Chunks, Precision);
  constexpr std::size_t barrier_bytes = 2 * sizeof(unsigned long long);
  constexpr std::size_t origin_bytes = 1024;  // and what aligns the tiles after it
  const auto kernel = search_kernel<Chunks, Whole, Precision>;
  in.stages =
      static_cast<int>(std::min<std::size_t>(in.tiles, (shared_bytes - origin_bytes) / (tile_bytes + barrier_bytes)));
  const std::size_t bytes = in.stages * (tile_bytes + barrier_bytes);
  constexpr std::size_t block_rows_here = std::size_t{groups_for(Chunks, Precision)} * group_rows;
  const std::size_t row_tiles = (in.piece.count + block_rows_here - 1) / block_rows_here;
  const std::size_t blocks = std::min(row_tiles, multiprocessors);
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "give a kernel its shared memory");
  cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), 128 * groups_for(Chunks, Precision), bytes, stream, in);
}

template <precision Precision, int Chunks = 1>
void launch_chunks(const tensor_arguments& in, std::size_t multiprocessors, std::size_t shared_bytes,
                   cudaStream_t stream) {
  // Beyond 64 columns two chunks more make the next kernel, so that there are fewer of them to compile.
  if constexpr (16 * Chunks < most_tensor_columns) {
    if (in.centroids.columns > 16 * Chunks) {
      return launch_chunks<Precision, Chunks + (Chunks < 4 ? 1 : 2)>(in, multiprocessors, shared_bytes, stream);
    }
  }
  if (in.centroids.columns == 16 * Chunks) {
    launch<Chunks, true, Precision>(in, multiprocessors, shared_bytes, stream);
  } else {
    launch<Chunks, false, Precision>(in, multiprocessors, shared_bytes, stream);
  }
}

}  // namespace

bool has_tensor_search(int device) {
#ifdef SHOAL_COMPILED_FOR_90A
  int major = 0, minor = 0;
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "describe the device");
  cuda::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "describe the device");
  return major == 9 && minor == 0;
#else
  static_cast<void>(device);
  return false;
#endif
}

void search_tensor(const cuda::device_piece<float>& piece, const device_centroids<float>& centroids,
                   std::int32_t* labels, const doubtful_rows& doubtful, std::size_t multiprocessors,
                   std::size_t shared_bytes, const int* stopped, cudaStream_t stream) {
  tensor_arguments in;
  in.piece = piece;
  in.centroids = centroids;
  in.labels = labels;
  in.doubtful = doubtful;
  in.tiles = centroids.padded / cluster_tile;
  in.aligned = centroids.columns % 4 == 0;
  in.stopped = stopped;
  switch (centroids.products) {
    case precision::float32:
      return launch_chunks<precision::float32>(in, multiprocessors, shared_bytes, stream);
    case precision::tf32:
      return launch_chunks<precision::tf32>(in, multiprocessors, shared_bytes, stream);
    case precision::bf16:
      return launch_chunks<precision::bf16>(in, multiprocessors, shared_bytes, stream);
  }
}

}  // namespace shoal::kmeans
