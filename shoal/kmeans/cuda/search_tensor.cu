// The nearest centroid on Hopper's tensor cores: rows stay in registers as the left operand of wgmma, tiles of
// centroids stream through shared memory, and each thread keeps the least scores of its columns.
//
// Products are of TF32 numbers, so a score is only known to within a bound that is computed for each row from what
// rounding to TF32 really lost; a row whose least scores are closer than that is left to the float64 definition.
#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/check.hpp>
#include <shoal/kmeans/cuda/doubt.cuh>
#include <shoal/kmeans/cuda/kernels.hpp>
#include <shoal/kmeans/cuda/tensor_layout.hpp>

namespace shoal::kmeans {
namespace {

// Compiled for other GPUs, the kernel is empty; has_tensor_search() keeps it from them.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool has_warpgroup_products = true;
#else
constexpr bool has_warpgroup_products = false;
#endif

constexpr int group_rows = 64;
// Warpgroups of a block that compute, each on rows of its own: as many as have registers for rows of so many chunks of
// 16 columns.
constexpr int groups_for(int chunks) { return chunks == 1 ? 6 : chunks == 2 ? 5 : chunks <= 4 ? 4 : 3; }
constexpr int threads_for(int chunks) { return groups_for(chunks) * 128 + 32; }  // and a warp that fetches centroids
constexpr int positions = 16;  // scores of one row that a thread sees in a tile; a power of two

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void make_barrier(unsigned long long* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ void wait(unsigned long long* barrier, unsigned phase) {
  unsigned done = 0;
  while (!done) {
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(phase)
                 : "memory");
  }
}
__device__ void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void fetch(void* to, const void* from, unsigned bytes, unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Core matrices without swizzling: neighbours along the columns are 128 bytes apart, along the centroids `stride`.
__device__ unsigned long long describe(unsigned address, unsigned stride) {
  return static_cast<unsigned long long>((address & 0x3ffff) >> 4) | static_cast<unsigned long long>(128 >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32;
}

// scores[64 × 64] += rows[64 × 8] · (centroids[64 × 8])ᵀ
__device__ void multiply(float (&d)[32], const unsigned (&a)[4], unsigned long long centroids) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "{%32, %33, %34, %35}, %36, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(centroids));
}

// A score with its position among the thread's scores of the tile in its lowest bits: one minimum keeps both.
// `mask` has those bits clear; it is a value that the compiler cannot know, so that the two operations become one.
__device__ float with_position(float score, unsigned mask, unsigned position) {
  unsigned key;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(key) : "r"(__float_as_uint(score)), "r"(mask), "r"(position));
  return __uint_as_float(key);
}

// The three least keys of a row among a thread's columns, and the tiles of the first two.
struct least_keys {
  float first = std::numeric_limits<float>::max() / 8;
  float second = std::numeric_limits<float>::max() / 8;
  float third = std::numeric_limits<float>::max() / 8;
  int first_tile = 0;
  int second_tile = 0;

  /// Takes in the two least keys of tile t. Its third is not known, but no less than its second.
  __device__ void take(float best, float next, int t) {
    const bool better = best < first;
    const float loser = fmaxf(first, best), follower = better ? next : second, other = better ? second : next;
    const int loser_tile = better ? first_tile : t, follower_tile = better ? t : second_tile;
    first = fminf(first, best);
    first_tile = better ? t : first_tile;
    third = fminf(fminf(third, next), fminf(fmaxf(loser, follower), other));
    second_tile = loser < follower ? loser_tile : follower_tile;
    second = fminf(loser, follower);
  }
};

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

// Four columns of a row, less the origin; zero beyond the last column.
__device__ float4 read_columns(const tensor_arguments& in, std::size_t row, int column) {
  const int columns = in.centroids.columns;
  const float* from = in.piece.rows + row * columns + column;
  const float* origin = in.centroids.origin + column;
  float4 x = make_float4(0, 0, 0, 0);
  if (in.aligned) {
    if (column < columns) {
      x = __ldcs(reinterpret_cast<const float4*>(from));
      x.x -= origin[0], x.y -= origin[1], x.z -= origin[2], x.w -= origin[3];
    }
    return x;
  }
  if (column < columns) x.x = from[0] - origin[0];
  if (column + 1 < columns) x.y = from[1] - origin[1];
  if (column + 2 < columns) x.z = from[2] - origin[2];
  if (column + 3 < columns) x.w = from[3] - origin[3];
  return x;
}

// Chunks: of 16 columns.
template <int Chunks>
__device__ void search_rows(const tensor_arguments& in) {
  if (*in.stopped) return;
  extern __shared__ __align__(1024) unsigned char shared[];
  constexpr int padded_columns = 16 * Chunks, groups = groups_for(Chunks);
  constexpr unsigned tile_bytes = static_cast<unsigned>(tensor_tile(padded_columns) * sizeof(float));
  auto* const full = reinterpret_cast<unsigned long long*>(shared + in.stages * tile_bytes);
  unsigned long long* const empty = full + in.stages;
  if (threadIdx.x == 0) {
    for (int s = 0; s < in.stages; ++s) {
      make_barrier(full + s, 1);
      make_barrier(empty + s, groups);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  constexpr std::size_t block_rows_here = groups * group_rows;
  const auto row_tiles = static_cast<unsigned>((in.piece.count + block_rows_here - 1) / block_rows_here);
  const bool all_stay = in.stages == in.tiles;

  if (threadIdx.x >= groups * 128) {
    if (threadIdx.x != groups * 128) return;
    int stage = 0;
    unsigned round = 0;
    for (unsigned row_tile = blockIdx.x; row_tile < row_tiles; row_tile += gridDim.x) {
      for (int t = 0; t < in.tiles; ++t) {
        if (round > 0) wait(empty + stage, (round - 1) & 1);
        fetch(shared + stage * tile_bytes, in.centroids.tensor + t * tensor_tile(padded_columns), tile_bytes,
              full + stage);
        if (++stage == in.stages) stage = 0, ++round;
      }
      if (all_stay) return;
    }
    return;
  }

  const int group = threadIdx.x / 128, warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, q = lane % 4;
  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest_residual =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001);
  const unsigned mask = ~static_cast<unsigned>(positions - 1) | __float_as_uint(largest_norm) >> 31;
  int stage = 0;
  unsigned round = 0;
  for (unsigned row_tile = blockIdx.x; row_tile < row_tiles; row_tile += gridDim.x) {
    const std::size_t first = row_tile * block_rows_here + group * group_rows + warp * 16 + lane / 4;
    unsigned rows[2 * Chunks][4];
    float norms[2] = {}, residuals[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const std::size_t row = first + 8 * half < in.piece.count ? first + 8 * half : in.piece.count - 1;
#pragma unroll
      for (int c = 0; c < Chunks; ++c) {
        const float4 x4 = read_columns(in, row, 16 * c + 4 * q);
        const float x[4] = {x4.x, x4.y, x4.z, x4.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float rounded = round_to_tf32(x[e]);
          norms[half] = fmaf(x[e], x[e], norms[half]);
          residuals[half] = fmaf(x[e] - rounded, x[e] - rounded, residuals[half]);
          rows[2 * c + e / 2][e % 2 * 2 + half] = __float_as_uint(rounded);
        }
      }
    }
    least_keys least[2];

    for (int t = 0; t < in.tiles; ++t) {
      wait(full + stage, all_stay ? 0 : round & 1);
      const unsigned char* const tile = shared + stage * tile_bytes;
      const auto* const half_norms = reinterpret_cast<const float*>(tile) + cluster_tile * padded_columns;
      float scores[32];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 two = *reinterpret_cast<const float2*>(half_norms + 8 * i + 2 * q);
        scores[4 * i] = scores[4 * i + 2] = two.x;
        scores[4 * i + 1] = scores[4 * i + 3] = two.y;
      }
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      const unsigned long long described = describe(shared_address(tile), 32 * padded_columns);
#pragma unroll
      for (int s = 0; s < 2 * Chunks; ++s) multiply(scores, rows[s], described + s * (256 >> 4));
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (!all_stay && threadIdx.x % 128 == 0) arrive(empty + stage);
      if (++stage == in.stages) stage = 0, ++round;

#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float best = with_position(scores[2 * half], mask, 0), second = with_position(scores[2 * half + 1], mask, 1);
        const float more = fmaxf(best, second);
        best = fminf(best, second);
        second = more;
#pragma unroll
        for (int p = 2; p < positions; ++p) {
          const float key = with_position(scores[p / 2 * 4 + 2 * half + p % 2], mask, p);
          second = fminf(second, fmaxf(best, key));
          best = fminf(best, key);
        }
        least[half].take(best, second, t);
      }
    }
    least_three<float> all[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto cluster = [&](float key, int t) {
        const int p = static_cast<int>(__float_as_uint(key) & (positions - 1));
        return t * cluster_tile + p / 2 * 8 + 2 * q + p % 2;
      };
      all[half].first = least[half].first;
      all[half].second = least[half].second;
      all[half].third = least[half].third;
      all[half].first_cluster = cluster(least[half].first, least[half].first_tile);
      all[half].second_cluster = cluster(least[half].second, least[half].second_tile);
    }

    // Half a squared distance, less what is the same for every centroid, differs from its score by no more than
    //   ‖x′ − x̂‖ ‖c′‖ + ‖x̂‖ ‖c′ − ĉ‖      what rounding to TF32 lost,
    //   a · (‖x′‖ ‖c′‖ + ‖c′‖²/2)          the rest: 8 roundings of float32 for the inputs and ‖c′‖²/2, the sums of 8
    //                                      products and what came before, each of 9 terms cut off at 2⁻²³ of the
    //                                      largest, and the position in the last 4 bits.
    constexpr float a = 1.05f * (8 * 0x1p-24f + 9.0f * (2 * Chunks) * 0x1p-23f + 0x1p-19f);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      for (int step = 1; step < 4; step *= 2) {
        all[half].exchange(step);
        norms[half] += __shfl_xor_sync(~0u, norms[half], step);
        residuals[half] += __shfl_xor_sync(~0u, residuals[half], step);
      }
      const std::size_t row = first + 8 * half;
      if (q != 0 || row >= in.piece.count) continue;
      const float x = sqrtf(norms[half]) * 1.0001f, c = sqrtf(largest_norm);
      const float lost = sqrtf(residuals[half]) * 1.0001f * c + 1.001f * x * sqrtf(largest_residual);
      const float magnitude = x * c + 0.5f * largest_norm;
      // Magnitudes near the largest number make the gap infinite: nothing is proved there.
      const float error = lost + a / 16 * (16 * magnitude) +
                          4 * static_cast<float>(padded_columns + 8) * std::numeric_limits<float>::min();
      settle_row(all[half], 2 * error, static_cast<int>(row), in.labels, in.doubtful);
    }
  }
}

template <int Chunks>
__global__ void __launch_bounds__(threads_for(Chunks), 1) search_kernel(tensor_arguments in) {
  if constexpr (has_warpgroup_products) search_rows<Chunks>(in);
}

template <int Chunks>
void launch(tensor_arguments in, std::size_t multiprocessors, std::size_t shared_bytes, cudaStream_t stream) {
  constexpr std::size_t tile_bytes = tensor_tile(16 * Chunks) * sizeof(float);
  constexpr std::size_t barrier_bytes = 2 * sizeof(unsigned long long);
  in.stages = static_cast<int>(std::min<std::size_t>(in.tiles, shared_bytes / (tile_bytes + barrier_bytes)));
  const std::size_t bytes = in.stages * (tile_bytes + barrier_bytes);
  cuda::check(
      cudaFuncSetAttribute(search_kernel<Chunks>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "give a kernel its shared memory");
  constexpr std::size_t block_rows_here = std::size_t{groups_for(Chunks)} * group_rows;
  const std::size_t row_tiles = (in.piece.count + block_rows_here - 1) / block_rows_here;
  search_kernel<Chunks>
      <<<static_cast<unsigned>(std::min(row_tiles, multiprocessors)), threads_for(Chunks), bytes, stream>>>(in);
  cuda::check_launch("search_tensor");
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
  switch (tensor_columns(centroids.columns) / 16) {
    case 1:
      return launch<1>(in, multiprocessors, shared_bytes, stream);
    case 2:
      return launch<2>(in, multiprocessors, shared_bytes, stream);
    case 3:
      return launch<3>(in, multiprocessors, shared_bytes, stream);
    case 4:
      return launch<4>(in, multiprocessors, shared_bytes, stream);
    case 5:
      return launch<5>(in, multiprocessors, shared_bytes, stream);
    case 6:
      return launch<6>(in, multiprocessors, shared_bytes, stream);
    case 7:
      return launch<7>(in, multiprocessors, shared_bytes, stream);
    default:
      return launch<8>(in, multiprocessors, shared_bytes, stream);
  }
}

}  // namespace shoal::kmeans
