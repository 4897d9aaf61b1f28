// Wide rows are added to the statistics by their labels, as in sum_by_label.cu: warps of their own fetch whole rows
// into shared memory, so many ahead that memory never waits for arithmetic.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/core/host_device.hpp>
#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/som/cuda/sum_fetched_rows.hpp>
#include <shoal/som/cuda/sum_runs.cuh>

namespace shoal::som {
namespace {

[[maybe_unused]] constexpr int batch = summed_together;  // rows that a warp adds at a time
constexpr int most_parts = 4, most_stages = 16;          // a stage is a row
constexpr int threads_at_most = 32 * most_warps;         // one warp of each part fetches: more spill registers
constexpr std::size_t least_fetched_bytes = std::size_t{96} << 10, kept_bytes = std::size_t{3} << 10;

// How the rows of a tile are shared: parts of them by groups of warps, of which each warp has a chunk of the columns.
// Of more columns than a block has warps for, one bundle of chunks comes after the other.
struct sharing {
  int bundles, chunks, parts, stages;

  sharing(int columns) : stages(0) {
    const int all = (columns + distance_columns(columns) - 1) / distance_columns(columns);
    bundles = (all + most_warps - 2) / (most_warps - 1);
    chunks = (all + bundles - 1) / bundles;
    parts = std::clamp(most_warps / (chunks + 1), 1, most_parts);
  }
  SHOAL_HD int warps() const { return (chunks + 1) * parts; }
  // Distances of a row that a block keeps: of chunks, and of the bundles before.
  SHOAL_HD int kept() const { return chunks + (bundles > 1 ? 1 : 0); }
  // Of a row, those of a bundle.
  SHOAL_HD unsigned piece_bytes(int columns, std::size_t number_bytes) const {
    const int most = chunks * distance_columns(columns);
    return static_cast<unsigned>(static_cast<std::size_t>(most < columns ? most : columns) * number_bytes);
  }
};

// A place in the ring of a part.
struct ring_place {
  int stage = 0;
  unsigned round = 0;
  __device__ void next(int stages) {
    if (++stage == stages) stage = 0, round ^= 1;
  }
};

// The rows of a part in the order of their labels, in each block from another one on: all add to the same sums.
struct part_of_tile {
  int begin, count, start;

  __device__ part_of_tile(int rows, int part, int parts) {
    const int each = (rows + parts - 1) / parts;
    begin = min(part * each, rows);
    count = min(begin + each, rows) - begin;
    start = static_cast<int>(static_cast<long long>(count) * blockIdx.x / gridDim.x);
  }
  __device__ int place(int i) const {
    const int turned = start + i;
    return begin + (turned < count ? turned : turned - count);
  }
};

template <class Scalar, int Slots, bool Plain>
__device__ void sum_rows(const sum_arguments<Scalar>& in, const sharing& shares) {
  extern __shared__ __align__(128) unsigned char memory[];
  __shared__ unsigned long long full[most_parts * most_stages], empty[most_parts * most_stages];
  const int columns = in.units.columns, lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int chunks = shares.chunks, parts = shares.parts, stages = shares.stages;
  const unsigned stage_bytes = shares.piece_bytes(columns, sizeof(Scalar));
  // [chunk][row of order] of distances, and of more than one bundle those of all before
  auto* const squares = reinterpret_cast<double*>(memory + static_cast<std::size_t>(parts * stages) * stage_bytes);
  double* const before = squares + chunks * in.tile_rows;
  auto* const order = reinterpret_cast<unsigned*>(squares + shares.kept() * in.tile_rows);
  unsigned* const counts = order + in.tile_rows;
  if (threadIdx.x == 0) {
    for (int s = 0; s < parts * stages; ++s) {
      cuda::make_barrier(full + s, 1);
      cuda::make_barrier(empty + s, static_cast<unsigned>(chunks));
    }
    cuda::publish_barriers();
  }
  __syncthreads();
  cuda::wait_for_predecessor();
  const bool fetches = warp >= chunks * parts;
  const int chunk = warp % chunks, part = fetches ? warp - chunks * parts : warp / chunks;
  unsigned char* const ring = memory + static_cast<std::size_t>(part * stages) * stage_bytes;
  const double weight_scale = in.sums.scale[columns], rest_scale = in.sums.rest_scale;
  const double distance_scale = error_scale(in.sums, bound_of(in.units.bounds->norm));
  long long error_whole = 0, error_rest = 0;
  ring_place at;
  // The columns of the tile that begin with `bundle_column`.
  const auto sum_bundle = [&](int tile, int count, int bundle_column) {
    const part_of_tile mine(count, part, parts);
    if (fetches) {
      const Scalar* const rows = in.rows.rows + static_cast<std::size_t>(tile) * columns + bundle_column;
      const unsigned bytes = min(stage_bytes, static_cast<unsigned>((columns - bundle_column) * sizeof(Scalar)));
      for (int i = 0; i < mine.count && lane == 0; ++i) {
        const int stage = part * stages + at.stage;
        cuda::wait(empty + stage, at.round ^ 1);
        const std::size_t row = order[mine.place(i)] % most_tile_rows;
        cuda::fetch(ring + static_cast<std::size_t>(at.stage) * stage_bytes, rows + row * columns, bytes, full + stage);
        at.next(stages);
      }
      return;
    }
    const int own_column = chunk * in.chunk_columns, first_column = bundle_column + own_column;
    const int last_column = min(first_column + in.chunk_columns, columns);
    const bool has_weights = first_column == 0 && lane == 0;
    double scales[Slots], centre[Slots];
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
      const int j = min(first_column + lane + 32 * s, columns - 1);
      scales[s] = in.sums.scale[j];
      centre[s] = static_cast<double>(in.units.centre[j]);
    }
    int run = -1;
    run_sums<Slots, Plain> sums;
    double own[Slots] = {};
    const auto end_run = [&] {
      if (run < 0) return;
      const std::size_t place = static_cast<std::size_t>(run) * (columns + 1);
      const long long shifted = sums.shifted();
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        const int j = first_column + lane + 32 * s;
        if (!in.add_rows || j >= last_column) continue;
        add_whole(in.sums.whole + place + j, sums.whole[s] - shifted);
        add_whole(in.sums.rest + place + j, sums.rest[s] - shifted);
      }
      if (has_weights) {
        const long long of_rows = Plain ? sums.rows * __double2ll_rn(weight_scale) : sums.weight_whole;
        add_whole(in.sums.whole + place + columns, of_rows);
        add_whole(in.sums.rest + place + columns, sums.weight_rest);
      }
      sums = {};
    };
    const auto begin_run = [&](int label) {
      if (label == run) return;
      end_run();
      run = label;
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        const int j = first_column + lane + 32 * s;
        if (j < last_column) own[s] = in.units.exact[static_cast<std::size_t>(label) * columns + j];
      }
    };
    // A row in a stage of the ring, of the run's label; its squared distance in this chunk, by lane.
    const auto add_row = [&](int stage, double weight) {
      const auto* const row =
          reinterpret_cast<const Scalar*>(ring + static_cast<std::size_t>(stage) * stage_bytes) + own_column;
      double distance = 0;
      sums.add_weight(weight, weight_scale, rest_scale);
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        const int j = first_column + lane + 32 * s;
        const auto wide = static_cast<double>(j < last_column ? row[lane + 32 * s] : Scalar{0});
        // Whether these are wanted is asked in the end: a branch here keeps numbers from being under way together.
        sums.add(s, wide - centre[s], weight, scales[s], rest_scale);
        // Beyond the last column both are zero.
        distance = add_exactly<metric::euclidean>(distance, wide, own[s]);
      }
      return distance;
    };
    for (int i = 0; i < mine.count; i += batch) {
      unsigned entries[batch];
      double weights[batch], distances[batch];
      int label_of[batch];
      ring_place places[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        entries[b] = order[mine.place(min(i + b, mine.count - 1))];
        label_of[b] = static_cast<int>(entries[b] >> row_bits);
        weights[b] = Plain || in.rows.weights == nullptr
                         ? 1.0
                         : static_cast<double>(in.rows.weights[tile + entries[b] % most_tile_rows]);
        places[b] = at;
        if (i + b < mine.count) at.next(stages);
      }
      // Nearly always all are of one label: without branches between them their sums are under way together.
      static_assert(batch == 4);
      const bool alike = i + batch <= mine.count && label_of[0] == label_of[1] && label_of[0] == label_of[2] &&
                         label_of[0] == label_of[3];
      if (alike) {
        begin_run(label_of[0]);
#pragma unroll
        for (int b = 0; b < batch; ++b) cuda::wait(full + part * stages + places[b].stage, places[b].round);
#pragma unroll
        for (int b = 0; b < batch; ++b) distances[b] = add_row(places[b].stage, weights[b]);
      } else {
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          distances[b] = 0;
          if (i + b >= mine.count) continue;
          begin_run(label_of[b]);
          cuda::wait(full + part * stages + places[b].stage, places[b].round);
          distances[b] = add_row(places[b].stage, weights[b]);
        }
      }
      __syncwarp();  // all have read the rows
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (lane == b && i + b < mine.count) cuda::arrive(empty + part * stages + places[b].stage);
      }
      const double sum = sum_each<32>(distances);
      const int own_row = i + number_of_lane<32>();
      if (lane % 8 == 0 && own_row < mine.count) squares[chunk * in.tile_rows + mine.place(own_row)] = sum;
    }
    end_run();
  };
  for (int tile = static_cast<int>(blockIdx.x) * in.tile_rows; tile < in.rows.count;
       tile += static_cast<int>(gridDim.x) * in.tile_rows) {
    const int count = min(in.tile_rows, in.rows.count - tile);
    sort_tile(in.labels + tile, count, in.units.units, counts, order);
    for (int bundle = 0; bundle < shares.bundles; ++bundle) {
      if (bundle > 0) __syncthreads();  // distances of the one before have been read
      sum_bundle(tile, count, bundle * chunks * in.chunk_columns);
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += static_cast<int>(blockDim.x)) {
        double sum = bundle > 0 ? before[i] + squares[i] : squares[i];
        for (int c = 1; c < chunks; ++c) sum += squares[c * in.tile_rows + i];
        if (bundle + 1 < shares.bundles) {
          before[i] = sum;
          continue;
        }
        double weight = 1;
        if (in.rows.weights != nullptr) {
          weight = static_cast<double>(in.rows.weights[tile + order[i] % most_tile_rows]);
        }
        const double scaled = weight * sqrt(sum) * distance_scale;
        const long long whole = __double2ll_rn(scaled);
        error_whole += whole;
        error_rest += __double2ll_rn((scaled - static_cast<double>(whole)) * rest_scale);
      }
    }
  }
  error_whole = cuda::warp_sum(error_whole);
  error_rest = cuda::warp_sum(error_rest);
  if (lane != 0) return;
  add_whole(in.sums.error, error_whole);
  add_whole(in.sums.error + 1, error_rest);
}

template <class Scalar, int Slots, bool Plain>
__global__ void __launch_bounds__(threads_at_most, 1) sum_fetched_kernel(sum_arguments<Scalar> in, sharing shares) {
  if constexpr (cuda::has_warpgroup_products) sum_rows<Scalar, Slots, Plain>(in, shares);
}

}  // namespace

// Fewer warps than ten wait more for their own arithmetic than for rows: of 128 columns, which four would add up, an
// epoch took twice as long. With twelve one of 200,000 float64 rows × 260 columns on 10 units takes 0.194 ms on an H200
// instead of 0.218.
bool can_be_fetched(int columns, std::size_t number_bytes) {
  const sharing shares(columns);
  return columns > 256 && shares.warps() <= most_warps && shares.chunks * shares.parts >= 10 &&
         static_cast<std::size_t>(columns) * number_bytes % 16 == 0;
}

int fetched_tile_rows(std::size_t count, int units, int columns, std::size_t multiprocessors,
                      std::size_t shared_bytes) {
  if (count < least_rows(units)) return 0;
  const sharing shares(columns);
  // All multiprocessors end at the same time, after as few tiles as can be: each sends the sums of its units.
  for (std::size_t turns = 1;; ++turns) {
    const std::size_t each = (count + multiprocessors * turns - 1) / (multiprocessors * turns);
    const int rows =
        std::max(least_tile_rows(count), static_cast<int>(std::min<std::size_t>(each, most_tile_rows + 1)));
    const bool fits = rows <= most_tile_rows &&
                      shared_bytes_of(rows, units, shares.kept()) + least_fetched_bytes + kept_bytes <= shared_bytes;
    if (fits) return units <= rows ? rows : 0;
    if (rows == least_tile_rows(count)) return 0;
  }
}

template <class Scalar>
void sum_fetched_rows(sum_arguments<Scalar> in, bool plain, std::size_t multiprocessors, std::size_t shared_bytes,
                      cudaStream_t stream) {
  sharing shares(in.units.columns);
  const std::size_t stage_bytes = shares.piece_bytes(in.units.columns, sizeof(Scalar));
  const std::size_t own = shared_bytes_of(in.tile_rows, in.units.units, shares.kept()) + kept_bytes;
  const auto fit = static_cast<int>((shared_bytes - own) / stage_bytes / static_cast<std::size_t>(shares.parts));
  shares.stages = std::min(most_stages, fit);
  const auto tile_rows = static_cast<std::size_t>(in.tile_rows);
  const std::size_t tiles = (static_cast<std::size_t>(in.rows.count) + tile_rows - 1) / tile_rows;
  const auto blocks = static_cast<unsigned>(std::min(tiles, multiprocessors));
  const std::size_t shared = own - kept_bytes + static_cast<std::size_t>(shares.parts * shares.stages) * stage_bytes;
  const auto start = [&](auto kernel) {
    cuda::launch_in_turn(kernel, blocks, 32 * static_cast<unsigned>(shares.warps()), shared, stream, in, shares);
  };
  switch (in.chunk_columns / 32) {
    case 2:
      return start(plain ? sum_fetched_kernel<Scalar, 2, true> : sum_fetched_kernel<Scalar, 2, false>);
    case 3:
      return start(plain ? sum_fetched_kernel<Scalar, 3, true> : sum_fetched_kernel<Scalar, 3, false>);
    default:
      return start(plain ? sum_fetched_kernel<Scalar, 4, true> : sum_fetched_kernel<Scalar, 4, false>);
  }
}
template void sum_fetched_rows(sum_arguments<float>, bool, std::size_t, std::size_t, cudaStream_t);
template void sum_fetched_rows(sum_arguments<double>, bool, std::size_t, std::size_t, cudaStream_t);

}  // namespace shoal::som
