// Rows are added to the statistics by their labels: a block sorts the rows of a tile by label, and its threads add up
// runs of one label in registers before these go to the sums of all blocks. Where a map has few units, rows that are
// added one by one wait for each other at the same places of memory. Sums are of whole numbers: no order changes them.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/row_ring.cuh>
#include <shoal/som/cuda/sum_by_label.hpp>
#include <shoal/som/cuda/sum_fetched_rows.hpp>
#include <shoal/som/cuda/sum_runs.cuh>

namespace shoal::som {
namespace {

constexpr int least_warps = 8;    // of a block
constexpr int batch = ring_rows;  // rows on their way from memory at a time
static_assert(batch == summed_together);
// Of tiles of so many rows half a warp adds up a row of 17 to 32 columns: an epoch of 10⁷ × 17 on 2 units takes 1.12 ms
// on an H200 instead of 1.33, 10⁶ × 24 0.215 instead of 0.219; shorter tiles were not measured.
constexpr int least_halved_tile = 1024;

// Lanes threads add a chunk of a row's columns up, Slots of them each.
template <class Scalar, int Lanes, int Slots, bool Plain, bool Distances, bool Ahead>
__global__ void __launch_bounds__(32 * (Slots > 2 ? most_warps : least_warps), Slots > 2 ? 1 : 5 - Slots)
    sum_kernel(sum_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  extern __shared__ __align__(16) unsigned char memory[];
  using ring = row_ring<Slots>;
  static_assert(!Ahead || (Lanes == 32 && sizeof(Scalar) == sizeof(float)));
  ring ahead_rows(memory, static_cast<int>(threadIdx.x) / 32);
  // [chunk][row of order] of distances
  auto* const squares = reinterpret_cast<double*>(memory + (Ahead ? blockDim.x / 32 * ring::bytes : 0));
  auto* const order = reinterpret_cast<unsigned*>(squares + (Distances ? in.chunks * in.tile_rows : 0));
  unsigned* const counts = order + in.tile_rows;
  const int columns = in.units.columns, lane = threadIdx.x % Lanes, warp = static_cast<int>(threadIdx.x) / 32;
  const int chunk = warp % in.chunks, warp_part = warp / in.chunks;
  const int parts = static_cast<int>(blockDim.x) / 32 / in.chunks * (32 / Lanes);
  const int part = warp_part * (32 / Lanes) + static_cast<int>(threadIdx.x) % 32 / Lanes;
  const int first_column = (static_cast<int>(blockIdx.y) * in.chunks + chunk) * in.chunk_columns;
  const int last_column = min(first_column + in.chunk_columns, columns);
  const bool has_weights = first_column == 0 && lane == 0;
  const double weight_scale = in.sums.scale[columns], rest_scale = in.sums.rest_scale;
  const double distance_scale = Distances ? error_scale(in.sums, bound_of(in.units.bounds->norm)) : 0;
  double scales[Slots], centre[Slots];
#pragma unroll
  for (int s = 0; s < Slots; ++s) {
    const int j = min(first_column + lane + Lanes * s, columns - 1);
    scales[s] = in.sums.scale[j];
    centre[s] = in.units.metric == metric::cosine ? 0.0 : static_cast<double>(in.units.centre[j]);
  }
  long long error_whole = 0, error_rest = 0;
  const int each = (in.tile_rows + parts * batch - 1) / (parts * batch) * batch;
  for (int tile = static_cast<int>(blockIdx.x) * in.tile_rows; tile < in.rows.count;
       tile += static_cast<int>(gridDim.x) * in.tile_rows) {
    const int count = min(in.tile_rows, in.rows.count - tile);
    sort_tile(in.labels + tile, count, in.units.units, counts, order);
    const Scalar* const rows = in.rows.rows + static_cast<std::size_t>(tile) * columns;
    const int begin = min(part * each, count), end = min(begin + each, count);
    const int warp_begin = warp_part * (32 / Lanes) * each;
    int run = -1;
    run_sums<Slots, Plain> sums;
    double own[Slots] = {};
    const auto end_run = [&] {
      if (run < 0) return;
      const std::size_t place = static_cast<std::size_t>(run) * (columns + 1);
      const long long shifted = sums.shifted();
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        const int j = first_column + lane + Lanes * s;
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
    [[maybe_unused]] const auto fetch = [&](int i) {
      if constexpr (Ahead) {
        const bool wanted = i < each && warp_begin + i < count;
        ahead_rows.fetch(wanted, rows, columns, first_column, last_column,
                         [&](int b) { return order[min(begin + i + b, count - 1)] % most_tile_rows; });
      }
    };
    if constexpr (Ahead) {
      __syncwarp();  // the tile before has been read
      for (int s = 0; s < ring::stages - 1; ++s) fetch(s * batch);
    }
    // All parts of a warp make as many turns.
    for (int i = 0; i < each && warp_begin + i < count; i += batch) {
      [[maybe_unused]] const float* stage = nullptr;
      if constexpr (Ahead) {
        __syncwarp();  // the batch before has been read
        fetch(i + (ring::stages - 1) * batch);
        stage = ahead_rows.take();
      }
      unsigned entries[batch];
      Scalar x[batch][Slots];
      double weights[batch], distances[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        entries[b] = order[min(begin + i + b, count - 1)];
        const std::size_t row = entries[b] % most_tile_rows;
#pragma unroll
        for (int s = 0; s < Slots; ++s) {
          const int j = first_column + lane + Lanes * s;
          if constexpr (Ahead) {
            x[b][s] = stage[(b * Slots + s) * 32 + lane];
          } else {
            x[b][s] = j < last_column ? rows[row * columns + j] : Scalar{0};
          }
        }
        weights[b] = Plain || in.rows.weights == nullptr ? 1.0 : static_cast<double>(in.rows.weights[tile + row]);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        distances[b] = 0;
        if (begin + i + b >= end) continue;
        const auto label = static_cast<int>(entries[b] >> row_bits);
        if (label != run) {
          end_run();
          run = label;
          if constexpr (Distances) {
#pragma unroll
            for (int s = 0; s < Slots; ++s) {
              const int j = first_column + lane + Lanes * s;
              if (j < last_column) own[s] = in.units.exact[static_cast<std::size_t>(label) * columns + j];
            }
          }
        }
        sums.add_weight(weights[b], weight_scale, rest_scale);
#pragma unroll
        for (int s = 0; s < Slots; ++s) {
          const auto wide = static_cast<double>(x[b][s]);
          // Whether these are wanted is asked in the end: a branch here keeps numbers from being under way together.
          sums.add(s, wide - centre[s], weights[b], scales[s], rest_scale);
          // Beyond the last column both are zero.
          if constexpr (Distances) distances[b] = add_exactly<metric::euclidean>(distances[b], wide, own[s]);
        }
      }
      if constexpr (Distances) {
        const double sum = sum_each<Lanes>(distances);
        const int mine = begin + i + number_of_lane<Lanes>();
        if (lane % (Lanes / 4) == 0 && mine < end) squares[chunk * in.tile_rows + mine] = sum;
      }
    }
    end_run();
    if constexpr (Ahead) ahead_rows.restart();
    if constexpr (Distances) {
      __syncthreads();
      for (int i = threadIdx.x; i < count; i += static_cast<int>(blockDim.x)) {
        double sum = squares[i];
        for (int c = 1; c < in.chunks; ++c) sum += squares[c * in.tile_rows + i];
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
  if constexpr (Distances) {
    error_whole = cuda::warp_sum(error_whole);
    error_rest = cuda::warp_sum(error_rest);
    if (threadIdx.x % 32 != 0) return;
    add_whole(in.sums.error, error_whole);
    add_whole(in.sums.error + 1, error_rest);
  }
}

// Whether sum_fetched_rows() takes rows in such tiles.
template <class Scalar>
bool are_fetched(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                 std::size_t multiprocessors, std::size_t shared_bytes, bool fetches) {
  return fetches && units.metric == metric::euclidean && can_be_fetched(units.columns, sizeof(Scalar)) &&
         reinterpret_cast<std::size_t>(rows.rows) % 16 == 0 &&
         fetched_tile_rows(static_cast<std::size_t>(rows.count), units.units, units.columns, multiprocessors,
                           shared_bytes) == tile_rows;
}

// Warps of a block that measure other columns of the same rows; 0: rows are not measured.
int measured_chunks(metric metric, int columns) {
  return measures_by_label(metric, columns) ? (columns + distance_columns(columns) - 1) / distance_columns(columns) : 0;
}

// Warps of a block that has so many chunks of columns.
int block_warps(int chunks) { return chunks * std::max(1, least_warps / chunks); }

// Blocks that a multiprocessor holds at a time, as the registers of a thread allow.
int resident_blocks(int columns, int chunks) {
  const int slots = distance_columns(columns) / 32;
  return slots > 2 ? std::max(1, most_warps / block_warps(chunks)) : 5 - slots;
}

// Bytes of rows on their way, of all warps of a block.
std::size_t fetched_bytes(int columns, int chunks) {
  const auto stage = static_cast<std::size_t>(batch * distance_columns(columns)) * sizeof(float);
  return static_cast<std::size_t>(block_warps(chunks)) * ring_stages * stage;
}

// Whether `blocks` of a multiprocessor read rows ahead: float32 rows whose distances are measured too, of which a lane
// has several numbers, by 16 bytes. By single numbers 10⁶ rows × 65 columns took 0.76 ms instead of 0.71, 300,000 ×
// 1001 3.17 instead of 2.13. Float64 rows gained nothing.
bool reads_ahead(int blocks, int tile_rows, int units, int columns, int measured, std::size_t number_bytes,
                 std::size_t shared_bytes) {
  return measured > 0 && columns > 32 && columns % 4 == 0 && number_bytes == sizeof(float) &&
         static_cast<std::size_t>(blocks) *
                 (shared_bytes_of(tile_rows, units, measured) + fetched_bytes(columns, measured) + 1024) <=
             shared_bytes;
}

template <class Scalar, int Lanes, int Slots>
void launch(const sum_arguments<Scalar>& in, bool plain, bool distances, bool ahead, std::size_t multiprocessors,
            cudaStream_t stream) {
  auto kernel = sum_kernel<Scalar, Lanes, Slots, false, false, false>;
  if (distances)
    kernel = plain ? sum_kernel<Scalar, Lanes, Slots, true, true, false>
                   : sum_kernel<Scalar, Lanes, Slots, false, true, false>;
  if constexpr (Lanes == 32 && Slots > 1 && sizeof(Scalar) == sizeof(float)) {
    if (ahead)
      kernel = plain ? sum_kernel<Scalar, Lanes, Slots, true, true, true>
                     : sum_kernel<Scalar, Lanes, Slots, false, true, true>;
  }
  const auto tile_rows = static_cast<std::size_t>(in.tile_rows);
  const std::size_t tiles = (static_cast<std::size_t>(in.rows.count) + tile_rows - 1) / tile_rows;
  const int chunks = (in.units.columns + in.chunk_columns - 1) / in.chunk_columns;
  const dim3 blocks(static_cast<unsigned>(std::min(tiles, 16 * multiprocessors)),
                    static_cast<unsigned>((chunks + in.chunks - 1) / in.chunks));
  const std::size_t shared = shared_bytes_of(in.tile_rows, in.units.units, distances ? in.chunks : 0) +
                             (ahead ? fetched_bytes(in.units.columns, in.chunks) : std::size_t{0});
  cuda::launch_in_turn(kernel, blocks, 32 * static_cast<unsigned>(block_warps(in.chunks)), shared, stream, in);
}

}  // namespace

int summed_tile_rows(std::size_t count, int units, int columns, metric metric, std::size_t number_bytes,
                     std::size_t multiprocessors, std::size_t shared_bytes, bool fetches) {
  if (count < least_rows(units)) return 0;
  if (fetches && metric == metric::euclidean && can_be_fetched(columns, number_bytes)) {
    const int rows = fetched_tile_rows(count, units, columns, multiprocessors, shared_bytes);
    if (rows > 0) return rows;
  }
  const int measured = measured_chunks(metric, columns);
  const int resident = measured > 0 ? resident_blocks(columns, measured) : 1;
  const auto fits = [&](int rows) {
    return reads_ahead(resident, rows, units, columns, measured, number_bytes, shared_bytes);
  };
  int rows = least_tile_rows(count);
  if (fits(rows)) {
    // All multiprocessors end at the same time, after as few tiles as can be: each sends the sums of its units.
    const std::size_t blocks = multiprocessors * static_cast<std::size_t>(resident);
    for (std::size_t turns = 1;; ++turns) {
      const std::size_t each = (count + blocks * turns - 1) / (blocks * turns);
      if (each <= most_tile_rows && fits(static_cast<int>(each))) {
        rows = std::max(rows, static_cast<int>(each));
        break;
      }
    }
    return units <= rows ? rows : 0;
  }
  if (measured > 0 && columns > 64) {
    // The same where rows are not read ahead.
    const std::size_t blocks = multiprocessors * static_cast<std::size_t>(resident);
    const auto all_fit = [&](std::size_t each) {
      return static_cast<std::size_t>(resident) * (shared_bytes_of(static_cast<int>(each), units, measured) + 1024) <=
             shared_bytes;
    };
    if (all_fit(static_cast<std::size_t>(rows))) {
      for (std::size_t turns = 1;; ++turns) {
        const std::size_t each = (count + blocks * turns - 1) / (blocks * turns);
        if (each <= most_tile_rows && (all_fit(each) || static_cast<int>(each) <= least_tile_rows(count))) {
          rows = std::max(rows, static_cast<int>(each));
          break;
        }
      }
      return units <= rows ? rows : 0;
    }
  }
  const std::size_t wanted = count / (4 * multiprocessors);
  const auto fits_alone = [&](int more) {
    return static_cast<std::size_t>(more) <= wanted && shared_bytes_of(more, units, measured) <= shared_bytes;
  };
  while (2 * rows <= most_tile_rows && fits_alone(2 * rows)) rows *= 2;
  return units <= rows ? rows : 0;
}

bool measures_by_label(metric metric, int columns) {
  return metric == metric::euclidean && columns <= most_warps * distance_columns(columns);
}

template <class Scalar>
bool measures_by_label(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                       std::size_t multiprocessors, std::size_t shared_bytes, bool fetches) {
  return measures_by_label(units.metric, units.columns) ||
         are_fetched(tile_rows, rows, units, multiprocessors, shared_bytes, fetches);
}
template bool measures_by_label(int, const searched_rows<float>&, const device_units<float>&, std::size_t, std::size_t,
                                bool);
template bool measures_by_label(int, const searched_rows<double>&, const device_units<double>&, std::size_t,
                                std::size_t, bool);

template <class Scalar>
void sum_by_label(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                  const std::int32_t* labels, const settled_rows& to, std::size_t multiprocessors,
                  std::size_t shared_bytes, bool fetches, cudaStream_t stream) {
  sum_arguments<Scalar> in;
  in.rows = rows;
  in.units = units;
  in.sums = *to.sums;
  in.labels = labels;
  in.add_rows = to.rows;
  in.tile_rows = tile_rows;
  in.chunk_columns = distance_columns(units.columns);
  in.chunks = std::min((units.columns + in.chunk_columns - 1) / in.chunk_columns, most_warps);
  const bool plain = rows.weights == nullptr && to.sums->total_weight >= 4096;
  const bool distances = measures_by_label(units.metric, units.columns);
  if (are_fetched(tile_rows, rows, units, multiprocessors, shared_bytes, fetches)) {
    return sum_fetched_rows(in, plain, multiprocessors, shared_bytes, stream);
  }
  const bool ahead =
      reinterpret_cast<std::size_t>(rows.rows) % 16 == 0 &&
      reads_ahead(1, tile_rows, units.units, units.columns, distances ? in.chunks : 0, sizeof(Scalar), shared_bytes);
  const auto start = [&](auto launcher) { launcher(in, plain, distances, ahead, multiprocessors, stream); };
  if (units.columns <= 4) return start(launch<Scalar, 4, 1>);
  if (units.columns <= 8) return start(launch<Scalar, 8, 1>);
  if (units.columns <= 16) return start(launch<Scalar, 16, 1>);
  if (units.columns <= 32 && tile_rows >= least_halved_tile) return start(launch<Scalar, 16, 2>);
  switch (in.chunk_columns / 32) {
    case 1:
      return start(launch<Scalar, 32, 1>);
    case 2:
      return start(launch<Scalar, 32, 2>);
    case 3:
      return start(launch<Scalar, 32, 3>);
    default:
      return start(launch<Scalar, 32, 4>);
  }
}
template void sum_by_label(int, const searched_rows<float>&, const device_units<float>&, const std::int32_t*,
                           const settled_rows&, std::size_t, std::size_t, bool, cudaStream_t);
template void sum_by_label(int, const searched_rows<double>&, const device_units<double>&, const std::int32_t*,
                           const settled_rows&, std::size_t, std::size_t, bool, cudaStream_t);

}  // namespace shoal::som
