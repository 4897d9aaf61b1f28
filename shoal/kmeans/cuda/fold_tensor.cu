// Rows of a few dozen columns into labels and sums in one pass over memory: warps search them on the tensor cores, as
// search_tensor.cu does and with the same labels, and add each row to its cluster's sums while it is still in shared
// memory.
//
// Every warp fetches 16 rows at a time into a ring of its own and has sums of its own, in float32 and about the rounded
// centroids, so that nobody waits for anybody. Each time 4096 rows of a shard end, all sums of a block go to float64.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/shard_plan.hpp>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/cuda/warpgroup_products.cuh>
#include <shoal/kmeans/cuda/exact_distance.cuh>
#include <shoal/kmeans/cuda/fold_tensor.hpp>
#include <shoal/kmeans/cuda/label_hash.cuh>
#include <shoal/kmeans/cuda/one_pass.cuh>
#include <shoal/kmeans/cuda/search_tensor.cuh>
#include <shoal/kmeans/cuda/tensor_layout.hpp>

namespace shoal::kmeans {
namespace {

using namespace cuda;  // barriers, copies and operands of warpgroup.cuh

constexpr int warp_rows = 16, group_warps = 4;
// Rows after which sums go to float64. Pieces of streamed rows end at multiples of it, so that it is the same in any.
constexpr int summed_together = static_cast<int>(piece_unit);
constexpr int hash_slots = summed_together / hashed_rows;
constexpr std::size_t least_stages = 2, most_stages = 8;
// Beyond it squares of distances would leave float32, and are added in float64.
constexpr float most_norm = 1e30F;

struct fold_arguments {
  one_pass_arguments<float> pass;
  device_centroids<float> centroids;
  int tiles;   // of centroids
  int stages;  // of each warp's ring
};

// Of a row in doubt between two centroids, and among all, the one that the definition names. All of a warp come here.
__device__ __noinline__ int decide_two(const float* row, const double* values, int columns, int first, int second) {
  const int thread = static_cast<int>(threadIdx.x) % 32;
  const double* const a = values + std::size_t(first) * columns;
  const double* const b = values + std::size_t(second) * columns;
  double to_a = 0, to_b = 0;
  for (int j = thread; j < columns; j += 32) {
    const auto x = static_cast<double>(row[j]);
    to_a = add_square(to_a, x, a[j]);
    to_b = add_square(to_b, x, b[j]);
  }
  for (int step = 16; step > 0; step /= 2) {
    to_a += __shfl_xor_sync(~0U, to_a, step);
    to_b += __shfl_xor_sync(~0U, to_b, step);
  }
  // Sums in another order: those that rounding could have turned are added as the definition says.
  if (!(fabs(to_a - to_b) > 2.0 * (columns + 4) * 0x1p-53 * (to_a + to_b) + 0x1p-1000)) {
    const double sum = exact_distance(row, thread % 2 == 0 ? a : b, columns);
    to_a = __shfl_sync(~0U, sum, 0);
    to_b = __shfl_sync(~0U, sum, 1);
  }
  return to_b < to_a || (to_b == to_a && second < first) ? second : first;
}
__device__ __noinline__ int decide_all(const float* row, const double* turned, int columns, int clusters, int padded) {
  candidate best;
  for (int k = static_cast<int>(threadIdx.x) % 32; k < clusters; k += 32) {
    double sum = 0;
    for (int j = 0; j < columns; ++j)
      sum = add_square(sum, static_cast<double>(row[j]), turned[std::size_t(j) * padded + k]);
    best.take(sum, k);
  }
  for (int step = 16; step > 0; step /= 2) {
    const double distance = __shfl_xor_sync(~0U, best.distance, step);
    const int cluster = __shfl_xor_sync(~0U, best.cluster, step);
    best.take(distance, cluster);
  }
  return best.cluster;
}

// How a warp adds rows of so many chunks of 16 columns to its sums: thread j has column j, and column j + 32 where
// there are more; of up to 16 columns half a warp has a row. Threads beyond the last column repeat it: they write what
// the thread of that column writes.
template <int Chunks>
class row_sums {
 public:
  __device__ row_sums(const float* centres, float* sums, int columns)
      : centres_(centres), sums_(sums), columns_(columns), thread_(static_cast<int>(threadIdx.x) % 32) {
#pragma unroll
    for (int s = 0; s < slots; ++s) {
      column_[s] = min(thread_ % row_threads + 32 * s, columns - 1);
      counts_[s] = thread_ % row_threads + 32 * s < columns;
    }
  }

  // 16 rows; `offset` is label · columns, of row r in the thread 4 (r mod 8) + r / 8. Returns this thread's squares.
  __device__ double add(const float* rows, int offset) {
    float squares[slots] = {};
    constexpr int batch = slots == 1 ? warp_rows : warp_rows / 2, at_once = 4;
#pragma unroll
    for (int first = 0; first < warp_rows; first += batch) {
      constexpr int steps = batch / rows_at_once;
      int offsets[steps];
      float added[steps][slots];
#pragma unroll
      for (int b = 0; b < steps; ++b) {
        const int r = first + b * rows_at_once + (rows_at_once == 2 ? thread_ / 16 : 0);
        offsets[b] = __shfl_sync(~0U, offset, r % 8 * 4 + r / 8);
#pragma unroll
        for (int s = 0; s < slots; ++s) {
          const float apart = rows[r * columns_ + column_[s]] - centres_[offsets[b] + column_[s]];
          squares[s] = fmaf(apart, apart, squares[s]);
          added[b][s] = apart;
        }
      }
      if constexpr (rows_at_once == 2) {
#pragma unroll
        for (int b = 0; b < steps; ++b) {
          const float others = __shfl_xor_sync(~0U, added[b][0], 16);
          const bool same = __shfl_xor_sync(~0U, offsets[b], 16) == offsets[b];
          float* const sum = sums_ + offsets[b] + column_[0];
          *sum += same ? added[b][0] + others : added[b][0];
          __syncwarp();
        }
      } else {
#pragma unroll
        for (int start = 0; start < steps; start += at_once) {
          float now[at_once][slots];
#pragma unroll
          for (int b = 0; b < at_once; ++b) {
#pragma unroll
            for (int s = 0; s < slots; ++s) now[b][s] = sums_[offsets[start + b] + column_[s]];
          }
#pragma unroll
          for (int b = 0; b < at_once; ++b) {
#pragma unroll
            for (int before = 0; before < b; ++before) {
              if (offsets[start + before] == offsets[start + b]) {
#pragma unroll
                for (int s = 0; s < slots; ++s) now[b][s] = now[before][s];
              }
            }
#pragma unroll
            for (int s = 0; s < slots; ++s) now[b][s] += added[start + b][s];
          }
#pragma unroll
          for (int b = 0; b < at_once; ++b) {
#pragma unroll
            for (int s = 0; s < slots; ++s) sums_[offsets[start + b] + column_[s]] = now[b][s];
          }
        }
      }
    }
    double all = 0;
#pragma unroll
    for (int s = 0; s < slots; ++s) all += static_cast<double>(counts_[s] ? squares[s] : 0.0F);
    return all;
  }

  // The same of fewer rows, or whose squares might leave float32, one after another.
  __device__ double add_some(const float* rows, int count, int offset) {
    double squares = 0;
#pragma unroll 1
    for (int r = 0; r < count; ++r) {
      const int to = __shfl_sync(~0U, offset, r % 8 * 4 + r / 8);
#pragma unroll
      for (int s = 0; s < slots; ++s) {
        const float apart = rows[r * columns_ + column_[s]] - centres_[to + column_[s]];
        if (counts_[s] && thread_ / row_threads == 0) {
          squares += static_cast<double>(apart) * static_cast<double>(apart);
          sums_[to + column_[s]] += apart;
        }
      }
      __syncwarp();
    }
    return squares;
  }

 private:
  static constexpr int slots = Chunks <= 2 ? 1 : 2, row_threads = Chunks == 1 ? 16 : 32,
                       rows_at_once = 32 / row_threads;
  const float* centres_;
  float* sums_;
  int columns_, thread_;
  int column_[slots];
  bool counts_[slots];
};

template <int Chunks, precision Precision, int Groups>
__device__ void fold_rows(const fold_arguments& in) {
  wait_for_predecessor();
  if (*in.pass.stopped) return;
  constexpr int warps = group_warps * Groups, threads = 32 * warps, tile_rows = warp_rows * warps;
  constexpr int padded_columns = 16 * Chunks;
  constexpr unsigned tile_bytes = static_cast<unsigned>(tensor_tile_bytes(padded_columns, Precision));
  constexpr unsigned centroid_bytes = padded_columns * tensor_element(Precision);
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ float4 origin[4 * Chunks];
  __shared__ unsigned long long full[warps][most_stages], tiles_there;
  __shared__ unsigned hashes[hash_slots][2];
  __shared__ double inertias[warps];
  const sum_plan& plan = in.pass.plan;
  const device_piece<float>& piece = in.pass.piece;
  const int columns = in.centroids.columns, clusters = in.centroids.clusters, numbers = clusters * columns;
  const int warp = static_cast<int>(threadIdx.x) / 32, thread = static_cast<int>(threadIdx.x) % 32, q = thread % 4;
  auto* const rings = reinterpret_cast<float*>(shared + in.tiles * tile_bytes);
  float* const ring = rings + warp * in.stages * warp_rows * columns;
  float* const centres = rings + warps * in.stages * warp_rows * columns;
  float* const all_sums = centres + numbers;
  auto* const counts = reinterpret_cast<unsigned*>(all_sums + warps * numbers);

  // The part of the lane that lies in this piece, as rows of the share.
  const int lane = in.pass.first_lane + static_cast<int>(blockIdx.x);
  const std::size_t lane_begin = plan.lane_begin(lane), lane_end = plan.lane_end(lane);
  const std::size_t begin = max(lane_begin, piece.share_first), end = min(lane_end, piece.share_first + piece.count);
  const bool fresh = begin == lane_begin;
  const int count = static_cast<int>(end - begin), tiles = (count + tile_rows - 1) / tile_rows;
  const float* const rows = piece.rows + (begin - piece.share_first) * columns;
  double* const state = in.pass.lanes + std::size_t(lane) * plan.block_doubles;
  double* const weights = state + numbers;
  double* const kept = weights + clusters + 1;

  const unsigned fetched_bytes = static_cast<unsigned>(warp_rows * columns * sizeof(float));
  // Tiles in which all rows of this warp are there. These are fetched; what is left is read as it is.
  const int left_of_warp = count - warp * warp_rows;
  const int whole_of_warp = left_of_warp < warp_rows ? 0 : (left_of_warp - warp_rows) / tile_rows + 1;
  const auto fetch_rows = [&](int tile, int stage) {
    const int row = tile * tile_rows + warp * warp_rows;
    fetch(ring + stage * warp_rows * columns, rows + std::size_t(row) * columns, fetched_bytes, &full[warp][stage]);
  };
  if (thread == 0) {
    for (int s = 0; s < in.stages; ++s) make_barrier(&full[warp][s], 1);
    if (warp == 0) make_barrier(&tiles_there, 1);
    publish_barriers();
    if (warp == 0) fetch(shared, in.centroids.tensor, in.tiles * tile_bytes, &tiles_there);
    for (int s = 0; s < min(in.stages, whole_of_warp); ++s) fetch_rows(s, s);
  }
  if (threadIdx.x < padded_columns) {
    const int j = static_cast<int>(threadIdx.x);
    reinterpret_cast<float*>(origin)[j] = j < columns ? in.centroids.origin[j] : 0.0F;
  }
  if (threadIdx.x < hash_slots * 2) hashes[threadIdx.x / 2][threadIdx.x % 2] = 0;
  for (int i = static_cast<int>(threadIdx.x); i < numbers; i += threads) centres[i] = in.centroids.rounded[i];
  for (int i = static_cast<int>(threadIdx.x); i < warps * numbers + clusters; i += threads) all_sums[i] = 0;
  double inertia = fresh ? 0.0 : kept[threadIdx.x];
  __syncthreads();
  wait(&tiles_there, 0);

  const float largest_norm =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_norm)) * 1.0001);
  const float largest_residual =
      static_cast<float>(__longlong_as_double(static_cast<long long>(in.centroids.bounds->largest_residual)) * 1.0001);
  const float largest = sqrtf(largest_norm);
  const bool far = !(largest_norm < most_norm);
  const unsigned multiplier = key_multiplier(largest_norm);
  const int whole_tiles = clusters / cluster_tile;
  const bool aligned = columns % 4 == 0;
  row_sums<Chunks> sums(centres, all_sums + warp * numbers, columns);
  unsigned low = 0, high = 0;
  unsigned long long fingerprint = 0;
  bool moved = !fresh;  // the state holds sums
  int stage = 0;
  unsigned round = 0;

  for (int tile = 0; tile < tiles; ++tile) {
    const int first = tile * tile_rows + warp * warp_rows;
    const bool whole = tile < whole_of_warp;
    int there = warp_rows;
    float* const mine = ring + stage * warp_rows * columns;
    if (whole) {
      wait(&full[warp][stage], round & 1);
    } else {
      there = first < count ? count - first : 0;
      for (int i = thread; i < there * columns; i += 32) mine[i] = rows[std::size_t(first) * columns + i];
      __syncwarp();
    }
    row_operands<Chunks, Precision> operands;
    {
      row_parts<Chunks> parts;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* const from = mine + (thread / 4 + 8 * half) * columns + 4 * q;
#pragma unroll
        for (int c = 0; c < Chunks; ++c) {
          float4& x = parts[half][c];
          // Only of the last chunk columns may be missing.
          const int left = c + 1 < Chunks ? 4 : columns - 4 * q - 16 * c;
          if (aligned) {
            x = make_float4(0, 0, 0, 0);
            if (left > 0) x = *reinterpret_cast<const float4*>(from + 16 * c);
          } else {
            x.x = left > 0 ? from[16 * c] : 0;
            x.y = left > 1 ? from[16 * c + 1] : 0;
            x.z = left > 2 ? from[16 * c + 2] : 0;
            x.w = left > 3 ? from[16 * c + 3] : 0;
          }
        }
      }
      operands.set(parts, origin + q);
    }
    least_scores least[2];
    float magnitudes[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float& norm = operands.norms[half];
      norm += __shfl_xor_sync(~0U, norm, 1);
      norm += __shfl_xor_sync(~0U, norm, 2);
      norm = quick_root(norm) * 1.0001F;
      magnitudes[half] = norm * largest + 0.5F * largest_norm;
    }
    const score_scale scales[2] = {score_scale(magnitudes[0]), score_scale(magnitudes[1])};
    least_keys<Precision> keys[2];  // there are at most segment_tiles tiles
#pragma unroll
    for (int t = 0; t < segment_tiles; ++t) {
      if (t >= in.tiles) break;
      const unsigned char* const centroids = shared + t * tile_bytes;
      const auto* const half_norms = reinterpret_cast<const float*>(centroids + cluster_tile * centroid_bytes);
      float scores[32];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float2 two = *reinterpret_cast<const float2*>(half_norms + 8 * i + 2 * q);
        scores[4 * i] = two.x + scales[0].offset;
        scores[4 * i + 1] = two.y + scales[0].offset;
        scores[4 * i + 2] = two.x + scales[1].offset;
        scores[4 * i + 3] = two.y + scales[1].offset;
      }
      if (t >= whole_tiles) {
#pragma unroll
        for (int i = 0; i < 32; ++i) {
          const int k = t * cluster_tile + i / 4 * 8 + 2 * q + i % 2;
          if (k >= clusters) scores[i] = scales[i / 2 % 2].beyond;
        }
      }
      begin_products();
      const unsigned long long described = describe(shared_address(centroids), 8 * centroid_bytes);
#pragma unroll
      for (int s = 0; s < operands.steps; ++s)
        multiply<row_operands<Chunks, Precision>::numbers>(scores, operands.values[s], described + s * (256 >> 4));
      end_products();
      wait_for_products<0>();
#pragma unroll
      for (int half = 0; half < 2; ++half) keys[half].template take<0>(scores, half, multiplier, t * positions);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const auto cluster = [&](unsigned key) {
        const auto p = static_cast<int>(key % segment_positions);
        return p / positions * cluster_tile + p % positions / 2 * 8 + 2 * q + p % 2;
      };
      const least_keys<Precision>& of = keys[half];
      least[half].take({of.first, of.second, of.third, cluster(of.first), cluster(of.second)});
    }
    // Of the four threads that share two rows, those with odd q finish the second row.
    const bool odd = q % 2 != 0;
    least_scores all = odd ? least[1] : least[0];
    all.take((odd ? least[0] : least[1]).of_lane(1));
    all.take(all.of_lane(2));
    const int row = thread / 4 + (odd ? 8 : 0);
    const bool has_row = q <= 1 && row < there;
    // Scores that left float32's range may name any place.
    int label = min(all.first_cluster, clusters - 1);
    if constexpr (Precision == precision::float32) {
      float residual = (odd ? operands.residuals[1] : operands.residuals[0]) +
                       __shfl_xor_sync(~0U, odd ? operands.residuals[0] : operands.residuals[1], 1);
      residual += __shfl_xor_sync(~0U, residual, 2);
      const float unit = odd ? scales[1].unit : scales[0].unit;
      const float error =
          score_error<Chunks>(odd ? magnitudes[1] : magnitudes[0], odd ? operands.norms[1] : operands.norms[0],
                              residual, largest, sqrtf(largest_residual), unit);
      const float gap = 2 * error / unit + 1;
      const least_units found(all);
      const bool doubtful = has_row && !(static_cast<float>(found.second - found.first) > gap);
      const bool open = !(static_cast<float>(found.third - found.first) > gap);
      for (unsigned left = __ballot_sync(~0U, doubtful); left != 0; left &= left - 1) {
        const int of = __ffs(static_cast<int>(left)) - 1, in_doubt = of / 4 + of % 2 * 8;
        const float* const values = mine + in_doubt * columns;
        const int decided = __shfl_sync(~0U, static_cast<int>(open), of) != 0
                                ? decide_all(values, in.centroids.turned, columns, clusters, in.centroids.padded)
                                : decide_two(values, in.centroids.values, columns, __shfl_sync(~0U, label, of),
                                             __shfl_sync(~0U, found.second_cluster, of));
        if (thread == of) label = decided;
      }
    }
    if (has_row) {
      atomicAdd(counts + label, 1U);
      const std::size_t of_share = begin + first + row;
      const auto of_block = static_cast<int>(of_share % hashed_rows);
      low += static_cast<unsigned>(label) * hash_table.words[of_block];
      high += static_cast<unsigned>(label) * hash_table.words[hashed_rows + of_block];
      if (in.pass.labels != nullptr) in.pass.labels[of_share - piece.share_first] = label;
    }
    const int offset = label * columns;
    inertia += whole && !far ? sums.add(mine, offset) : sums.add_some(mine, there, offset);

    __syncwarp();  // all have read the rows
    if (thread == 0 && tile + in.stages < whole_of_warp) fetch_rows(tile + in.stages, stage);
    if (++stage == in.stages) stage = 0, ++round;
    const std::size_t next = begin + std::size_t(tile + 1) * tile_rows;
    const bool last = tile + 1 == tiles;
    if (last || next % hashed_rows == 0) {
      low = __reduce_add_sync(~0U, low);
      high = __reduce_add_sync(~0U, high);
      const auto slot = static_cast<int>((next - tile_rows) % summed_together / hashed_rows);
      if (thread == 0) atomicAdd(&hashes[slot][0], low);
      if (thread == 0) atomicAdd(&hashes[slot][1], high);
      low = high = 0;
    }
    if (last || next % summed_together == 0) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < numbers; i += threads) {
        double sum = moved ? state[i] : 0.0;
#pragma unroll
        for (int w = 0; w < warps; ++w) {
          sum += static_cast<double>(all_sums[w * numbers + i]);
          all_sums[w * numbers + i] = 0;
        }
        state[i] = sum;
      }
      moved = true;
      if (threadIdx.x < hash_slots) {
        unsigned(&words)[2] = hashes[threadIdx.x];
        // Rows of the share become rows of all where the piece says so.
        const std::size_t block =
            (piece.first + (next - tile_rows) / summed_together * summed_together - piece.share_first) / hashed_rows +
            threadIdx.x;
        fingerprint += hash_of_block(odd_of_block(block), words[0], words[1]);
        words[0] = words[1] = 0;
      }
      __syncthreads();
    }
  }
  if (fingerprint != 0) atomicAdd(in.pass.fingerprint, fingerprint);

  for (int k = static_cast<int>(threadIdx.x); k < clusters; k += threads) {
    weights[k] = (fresh ? 0.0 : weights[k]) + static_cast<double>(counts[k]);
  }
  if (end < lane_end) {
    kept[threadIdx.x] = inertia;
    return;
  }
  // The lane is complete: its sums go from the rounded centroids to the float64 ones.
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < numbers; i += threads) {
    const double sum = state[i], weight = weights[i / columns];
    const double apart = in.centroids.values[i] - static_cast<double>(centres[i]);
    inertia += apart * (weight * apart - 2 * sum);
    state[i] = sum - weight * apart;
  }
  inertia = warp_sum(inertia);
  if (thread == 0) inertias[warp] = inertia;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < warps; ++w) inertia += inertias[w];
  weights[clusters] = inertia;
}

template <int Chunks, precision Precision, int Groups>
__global__ void __launch_bounds__(128 * Groups, 1) fold_kernel(fold_arguments in) {
  if constexpr (has_warpgroup_products) fold_rows<Chunks, Precision, Groups>(in);
}

// Bytes of a block beside its rings, and of a stage of all of them.
std::size_t bytes_beside(std::size_t warps, std::size_t clusters, std::size_t columns) {
  const std::size_t tiles = (clusters + cluster_tile - 1) / cluster_tile, numbers = clusters * columns;
  return tiles * tensor_tile_bytes(tensor_columns(static_cast<int>(columns)), precision::float32) +
         sizeof(float) * ((warps + 1) * numbers + clusters);
}
constexpr std::size_t stage_bytes(std::size_t warps, std::size_t columns) {
  return sizeof(float) * warps * warp_rows * columns;
}

constexpr std::size_t reserved_bytes = 4096;  // of the kernel's own arrays

template <int Chunks, precision Precision>
void launch(const fold_arguments& in, cudaStream_t stream) {
  const auto lanes = static_cast<unsigned>(in.pass.plan.piece_lanes(in.pass.piece));
  const auto launch_groups = [&](auto groups) {
    launch_in_turn(fold_kernel<Chunks, Precision, groups.value>, lanes, 128 * groups.value, in.pass.plan.shared_bytes,
                   stream, in);
  };
  if (in.pass.plan.warps == 4 * group_warps) return launch_groups(std::integral_constant<int, 4>());
  launch_groups(std::integral_constant<int, 2>());
}

template <precision Precision, int Chunks = 1>
void launch_chunks(const fold_arguments& in, cudaStream_t stream) {
  constexpr std::size_t most =
      Precision == precision::float32 ? most_exact_tensor_fold_columns : most_tensor_fold_columns;
  if constexpr (16 * Chunks < static_cast<int>(most)) {
    if (in.centroids.columns > 16 * Chunks) return launch_chunks<Precision, Chunks + 1>(in, stream);
  }
  launch<Chunks, Precision>(in, stream);
}

}  // namespace

sum_plan make_tensor_fold_plan(const summed_rows& summed, std::size_t clusters, std::size_t columns, precision products,
                               std::size_t multiprocessors, std::size_t shared_bytes) {
  static_assert(most_tensor_fold_clusters <= std::size_t{segment_tiles * cluster_tile});
  const std::size_t most_columns =
      products == precision::float32 ? most_exact_tensor_fold_columns : most_tensor_fold_columns;
  if (columns < least_tensor_fold_columns || columns > most_columns || clusters > most_tensor_fold_clusters ||
      summed.shard < multiprocessors * least_tensor_fold_rows) {
    return {};
  }
  constexpr std::size_t most_warps = 4 * group_warps;
  for (const std::size_t warps : {most_warps, most_warps / 2}) {
    if (warps < most_warps && clusters > std::size_t{cluster_tile}) break;
    const std::size_t beside = bytes_beside(warps, clusters, columns) + reserved_bytes;
    const std::size_t of_stage = stage_bytes(warps, columns);
    if (beside + least_stages * of_stage > shared_bytes) continue;
    const std::size_t stages = std::min<std::size_t>(most_stages, (shared_bytes - beside) / of_stage);
    const std::size_t block_doubles = clusters * (columns + 1) + 1 + 32 * warps;
    sum_plan plan = one_pass_plan(summed, clusters, columns, multiprocessors, block_doubles, hashed_rows);
    plan.warps = static_cast<int>(warps);
    plan.shared_bytes = beside - reserved_bytes + stages * of_stage;
    return plan;
  }
  return {};
}

void fold_tensor(const sum_plan& plan, const device_piece<float>& piece, const device_centroids<float>& centroids,
                 std::int32_t* labels, double* lanes, unsigned long long* fingerprint, const int* stopped,
                 cudaStream_t stream) {
  fold_arguments in;
  in.pass = one_pass(plan, piece, centroids, labels, lanes, fingerprint, stopped);
  in.centroids = centroids;
  in.tiles = centroids.padded / cluster_tile;
  const auto warps = static_cast<std::size_t>(plan.warps), columns = static_cast<std::size_t>(centroids.columns);
  in.stages = static_cast<int>(
      (plan.shared_bytes - bytes_beside(warps, static_cast<std::size_t>(centroids.clusters), columns)) /
      stage_bytes(warps, columns));
  switch (centroids.products) {
    case precision::float32:
      return launch_chunks<precision::float32>(in, stream);
    case precision::tf32:
      return launch_chunks<precision::tf32>(in, stream);
    case precision::bf16:
      return launch_chunks<precision::bf16>(in, stream);
  }
}

}  // namespace shoal::kmeans
