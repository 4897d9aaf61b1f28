// Rows of few columns beside few units are read once: a block has a tile of them in shared memory, its threads search
// units for them in float32, sort the tile by label, and add up runs of one label in registers. What float32 leaves
// open the warp decides in float64. Sums are of whole numbers: no order changes them.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/som/cuda/fold_short_rows.hpp>
#include <shoal/som/cuda/fold_tile.cuh>
#include <shoal/som/cuda/searched_numbers.cuh>

namespace shoal::som {
namespace {

template <class Scalar>
struct fold_arguments {
  searched_rows<Scalar> rows;
  device_units<Scalar> units;
  fixed_sums sums;
  int tile_rows;
};

template <class Scalar, int Columns>
struct fold_shape {
  static constexpr int each = folded_together(Columns);
  static constexpr int numbers = (2 * (Columns + 1) + 3) / 4 * 4;  // fold_layout::pair_numbers()
  static constexpr int exact = Columns | 1;                        // fold_layout::exact_numbers()
  static constexpr int slots = Columns > 16 ? 2 : 1;               // columns that a lane adds up
  static constexpr int lanes = (Columns + slots - 1) / slots;      // that add up a row
  static constexpr int groups = 32 / lanes;                        // of lanes in a warp
};

// The least two keys of a thread's rows: a key is half a squared distance whose last bits are the unit's place. Numbers
// that are not negative order like whole ones.
template <class Scalar, int Columns>
__device__ void least_keys(const float4* searched, int padded, int kept,
                           const float (&x)[fold_shape<Scalar, Columns>::each][Columns],
                           const float (&half)[fold_shape<Scalar, Columns>::each],
                           int (&best)[fold_shape<Scalar, Columns>::each],
                           int (&second)[fold_shape<Scalar, Columns>::each]) {
  using shape = fold_shape<Scalar, Columns>;
#pragma unroll 1
  for (int k = 0; k < padded; k += 2) {
    float c[shape::numbers];
#pragma unroll
    for (int v = 0; v < shape::numbers; v += 4) {
      const float4 four = searched[v / 4];
      c[v] = four.x, c[v + 1] = four.y, c[v + 2] = four.z, c[v + 3] = four.w;
    }
    searched += shape::numbers / 4;
    int key[shape::each][2];
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
      for (int i = 0; i < shape::each; ++i) {
        float score = half[i] + c[2 * Columns + which];
#pragma unroll
        for (int j = 0; j < Columns; ++j) score = fmaf(-x[i][j], c[2 * j + which], score);
        key[i][which] = (__float_as_int(score) & kept) | (k + which);
      }
    }
#pragma unroll
    for (int i = 0; i < shape::each; ++i) {
      const int low = min(key[i][0], key[i][1]), high = max(key[i][0], key[i][1]);
      second[i] = __vimin3_s32(second[i], high, max(best[i], low));
      best[i] = min(best[i], low);
    }
  }
}

// Numbers of up to twice Step lanes, added up as a warp does; beyond the last there are zeros.
template <int Step, int Count>
__device__ double sum_in_halves(const double (&values)[Count]) {
  if constexpr (Step == 0) {
    return values[0];
  } else {
    constexpr int left = Step < Count ? Step : Count;
    double sums[left];
#pragma unroll
    for (int j = 0; j < left; ++j)
      sums[j] = j + Step < Count ? values[j] + values[min(j + Step, Count - 1)] : values[j];
    return sum_in_halves<Step / 2>(sums);
  }
}

template <class Scalar, int Columns>
class short_fold {
  using shape = fold_shape<Scalar, Columns>;

 public:
  __device__ short_fold(const fold_arguments<Scalar>& in, unsigned char* memory)
      : in_(in),
        units_(in.units.units),
        layout_{in.units.units, Columns, in.tile_rows, sizeof(Scalar)},
        rows_(reinterpret_cast<Scalar*>(memory)),
        searched_(reinterpret_cast<float4*>(memory + layout_.searched())),
        exact_(reinterpret_cast<double*>(memory + layout_.exact())),
        sums_{reinterpret_cast<unsigned*>(memory + layout_.sums()), in.units.units * Columns},
        counts_(reinterpret_cast<unsigned*>(memory + layout_.counts())),
        ranked_(reinterpret_cast<unsigned*>(memory + layout_.ranked())),
        order_(reinterpret_cast<unsigned*>(memory + layout_.order())) {}

  __device__ void run(unsigned long long* full, unsigned* of_warps) {
    const int thread = static_cast<int>(threadIdx.x), total = in_.rows.count;
    int first = static_cast<int>(blockIdx.x) * in_.tile_rows;
    const fetched_tiles<Scalar> tiles{in_.rows.rows, total, Columns, in_.tile_rows, rows_};
    if (thread == 0) tiles.fetch(first, full);
    stage_units();
    error_.scale = error_scale(in_.sums, bound_of(in_.units.bounds->norm));
    error_.rest_scale = in_.sums.rest_scale;
    const double norm = bound_of(in_.units.bounds->norm) * in_.units.searched_in * 1.0001;
    const auto unit_norm = static_cast<float>(norm);
    // Sums may leave float32's range on their way: then the definition decides everywhere.
    const auto squared_norm = static_cast<float>(norm * norm < 0x1p120 ? norm * norm * 1.0001 : INFINITY);
    int rows_of_unit = 0;  // of the thread's number
    for (unsigned phase = 0; first < total; first += static_cast<int>(gridDim.x) * in_.tile_rows, phase ^= 1) {
      const int count = min(in_.tile_rows, total - first);
      if (thread < units_) counts_[thread] = 0;
      cuda::wait(full, phase);
      tiles.take_tail(first);
      __syncthreads();
      const int next = first + static_cast<int>(gridDim.x) * in_.tile_rows;
      if (thread == 0 && next < total) tiles.prefetch(next);
      for (int begin = 0; begin < count; begin += fold_threads * shape::each) {
        label_rows(begin, count, unit_norm, squared_norm);
      }
      __syncthreads();
      if (units_ > 1) {
        rows_of_unit += sort_ranked(count, units_, counts_, ranked_, order_, of_warps);
      } else {
        rows_of_unit += thread == 0 ? count : 0;
      }
      add_up(count);
      __syncthreads();
      if (thread == 0 && next < total) tiles.fetch(next, full);
    }
    finish(rows_of_unit);
  }

 private:
  __device__ void stage_units() const {
    auto* const numbers = reinterpret_cast<float*>(searched_);
    for (int i = static_cast<int>(threadIdx.x); i < layout_.padded() * (Columns + 1); i += fold_threads) {
      const int place = i / (Columns + 1), j = i % (Columns + 1);
      float value = 0;
      if (j < Columns) {
        value = searched_number(in_.units, in_.units.turned[static_cast<std::size_t>(j) * in_.units.padded + place]);
      } else {
        value = fminf(searched_start(in_.units, place), 0x1p126f);
      }
      numbers[place / 2 * shape::numbers + 2 * j + place % 2] = value;
    }
    for (int i = static_cast<int>(threadIdx.x); i < units_ * Columns; i += fold_threads) {
      exact_[i / Columns * shape::exact + i % Columns] = in_.units.exact[i];
    }
    for (int i = static_cast<int>(threadIdx.x); i < 4 * units_ * Columns; i += fold_threads) sums_.memory[i] = 0;
    __syncthreads();
  }

  // The definition of a squared distance.
  __device__ double exactly(const Scalar* row, int unit) const {
    double sum = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      sum = add_exactly<metric::euclidean>(sum, static_cast<double>(row[j]), exact_[unit * shape::exact + j]);
    }
    return sum;
  }

  // The units of the tile's rows from `begin` on, `each` of each thread, their distances, and their ranks in the order.
  __device__ void label_rows(int begin, int count, float unit_norm, float squared_norm) {
    const int thread = static_cast<int>(threadIdx.x);
    int labels[shape::each];
#pragma unroll
    for (int i = 0; i < shape::each; ++i) labels[i] = 0;
    if (units_ > 1) search(begin, count, unit_norm, squared_norm, labels);
#pragma unroll
    for (int i = 0; i < shape::each; ++i) {
      const int at = begin + i * fold_threads + thread;
      if (begin + i * fold_threads >= count) break;
      const bool there = at < count;
      if (units_ > 1) {
        const unsigned rank = rank_of(counts_, units_, labels[i], there);
        if (there) ranked_[at] = static_cast<unsigned>(labels[i]) << fold_row_bits | rank;
      }
      if (there) error_.add(distance(rows_ + at * Columns, labels[i]));
    }
  }

  // Squares are added up in the order of a warp's sum.
  __device__ double distance(const Scalar* row, int label) const {
    constexpr int lanes = Columns <= 4 ? 4 : Columns <= 8 ? 8 : Columns <= 16 ? 16 : 32;
    double squares[Columns];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      squares[j] = add_exactly<metric::euclidean>(0, static_cast<double>(row[j]), exact_[label * shape::exact + j]);
    }
    return sqrt(sum_in_halves<lanes / 2>(squares));
  }

  __device__ void search(int begin, int count, float unit_norm, float squared_norm, int (&labels)[shape::each]) const {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32, padded = layout_.padded();
    float x[shape::each][Columns], half[shape::each];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      const Scalar centre = in_.units.centre[j];
#pragma unroll
      for (int i = 0; i < shape::each; ++i) {
        const int at = min(begin + i * fold_threads + thread, count - 1);
        x[i][j] = searched_number(in_.units, rows_[at * Columns + j] - centre);
      }
    }
    const int index_bits = 32 - __clz(padded - 1), kept = -1 << index_bits;
    int best[shape::each], second[shape::each];
#pragma unroll
    for (int i = 0; i < shape::each; ++i) {
      half[i] = 0;
#pragma unroll
      for (int j = 0; j < Columns; ++j) half[i] = fmaf(x[i][j], x[i][j], half[i]);
      half[i] *= 0.5f;
      best[i] = second[i] = std::numeric_limits<int>::max();
    }
    least_keys<Scalar, Columns>(searched_, padded, kept, x, half, best, second);
    // Half a squared distance has d + 4 roundings of (‖x‖ + ‖c‖)²/2, and as much again for a row and a unit that
    // rounding moved; then the bits that the place takes. Of units that are farther from the centre than the row and
    // the unit found, by twice, none is nearer.
    constexpr float unit = 0x1p-24f * 1.05f, least = 16 * std::numeric_limits<float>::min();
    const float taken = static_cast<float>(1 << index_bits) * 0x1p-22f;
    bool doubtful[shape::each];
#pragma unroll
    for (int i = 0; i < shape::each; ++i) {
      const float nearest = __int_as_float(best[i] & kept), next = __int_as_float(second[i] & kept);
      const float near_squares = 8.1f * (2 * half[i] + 2 * fmaxf(nearest, 0.0f));
      const float reach =
          squared_norm < INFINITY ? 2 * half[i] + fminf(squared_norm, near_squares) : static_cast<float>(INFINITY);
      const int place = best[i] & ~kept;
      doubtful[i] =
          begin + i * fold_threads + thread < count &&
          (!(next - nearest > 2 * (Columns + 6) * unit * reach + taken * fabsf(next) + least) || place >= units_);
      labels[i] = in_.units.at_place[min(place, units_ - 1)];
    }
    // The threads of a warp share what is in doubt.
#pragma unroll
    for (int i = 0; i < shape::each; ++i) {
      for (unsigned left = __ballot_sync(all_lanes, doubtful[i]); left != 0; left &= left - 1) {
        const int other = __ffs(static_cast<int>(left)) - 1;
        const Scalar* const row = rows_ + (begin + i * fold_threads + thread - lane + other) * Columns;
        const int nearest = decide(row, unit_norm);
        if (lane == other) labels[i] = nearest;
      }
    }
  }

  // The unit of a row, by all lanes of a warp: scores without the row's norm, whose error is less, leave one nearly
  // always; of several the definition decides.
  __device__ int decide(const Scalar* row, float unit_norm) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const auto* const numbers = reinterpret_cast<const float*>(searched_);
    float x[Columns], squares = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[j] = searched_number(in_.units, row[j] - in_.units.centre[j]);
      squares = fmaf(x[j], x[j], squares);
    }
    const auto score = [&](int place) {
      const float* const c = numbers + place / 2 * shape::numbers + place % 2;
      float sum = c[2 * Columns];
#pragma unroll
      for (int j = 0; j < Columns; ++j) sum = fmaf(-x[j], c[2 * j], sum);
      return sum;
    };
    least_two<float> near;
    for (int place = lane; place < units_; place += 32) near.take(score(place), place);
    float least = near.first;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) least = fminf(least, from_lane(least, step));
    const float bound = short_bound<Columns>(least, sqrtf(squares) * 1.0001f + 0x1p-59f, unit_norm);
    const unsigned open = __ballot_sync(all_lanes, !(near.first > bound));
    if (__popc(open) == 1 && !__any_sync(all_lanes, !(near.second > bound))) {
      return in_.units.at_place[__shfl_sync(all_lanes, near.nearest, __ffs(static_cast<int>(open)) - 1)];
    }
    best_two best;
    for (int place = lane; place < units_; place += 32) {
      if (score(place) > bound) continue;
      const int unit = in_.units.at_place[place];
      best.take(exactly(row, unit), unit);
    }
    for (int step = 16; step > 0; step /= 2) best.join(step);
    return best.first_unit;
  }

  // Runs of one label. Each group of lanes takes a part of the order, of an odd length, so that groups use different
  // banks.
  __device__ void add_up(int count) const {
    constexpr int together = 4;  // rows on their way
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int group = lane / shape::lanes;
    const bool active = group < shape::groups;
    const int length = (count + fold_warps * shape::groups - 1) / (fold_warps * shape::groups) | 1;
    const int begin = active ? min((warp * shape::groups + group) * length, count) : count;
    const int end = min(begin + length, count);
    double centre[shape::slots], scale[shape::slots];
    int column[shape::slots];
#pragma unroll
    for (int s = 0; s < shape::slots; ++s) {
      column[s] = min(lane % shape::lanes + s * shape::lanes, Columns - 1);
      centre[s] = static_cast<double>(in_.units.centre[column[s]]);
      scale[s] = in_.sums.scale[column[s]];
    }
    const double rest_scale = in_.sums.rest_scale;
    const bool sorted = units_ > 1;
    int run = -1;
    run_sums<shape::slots, true> sums;
    const auto end_run = [&] {
      if (run < 0) return;
      const long long shifted = sums.shifted();
#pragma unroll
      for (int s = 0; s < shape::slots; ++s) {
        if (lane % shape::lanes + s * shape::lanes >= Columns) continue;
        sums_.add(run * Columns + column[s], sums.whole[s] - shifted);
        folded_sums{sums_.memory + 2 * sums_.values, sums_.values}.add(run * Columns + column[s],
                                                                       sums.rest[s] - shifted);
      }
      sums = {};
    };
    for (int i = begin; i < end; i += together) {
      int labels[together];
      Scalar x[together][shape::slots];
#pragma unroll
      for (int b = 0; b < together; ++b) {
        const int at = min(i + b, end - 1);
        const unsigned entry = sorted ? order_[at] : static_cast<unsigned>(at);
        labels[b] = static_cast<int>(entry >> fold_row_bits);
        const auto row = static_cast<int>(entry & ((1u << fold_row_bits) - 1));
#pragma unroll
        for (int s = 0; s < shape::slots; ++s) x[b][s] = rows_[row * Columns + column[s]];
      }
#pragma unroll
      for (int b = 0; b < together; ++b) {
        if (i + b >= end) break;
        if (labels[b] != run) {
          end_run();
          run = labels[b];
        }
        ++sums.rows;
#pragma unroll
        for (int s = 0; s < shape::slots; ++s) {
          sums.add(s, static_cast<double>(x[b][s]) - centre[s], 1.0, scale[s], rest_scale);
        }
      }
    }
    end_run();
  }

  // The block's sums into those of all blocks.
  __device__ void finish(int rows_of_unit) {
    const int thread = static_cast<int>(threadIdx.x);
    const folded_sums rest{sums_.memory + 2 * sums_.values, sums_.values};
    for (int i = thread; i < sums_.values; i += fold_threads) {
      const int at = i / Columns * (Columns + 1) + i % Columns;
      add_whole(in_.sums.whole + at, sums_.read(i));
      add_whole(in_.sums.rest + at, rest.read(i));
    }
    if (thread < units_) {
      add_whole(in_.sums.whole + thread * (Columns + 1) + Columns,
                rows_of_unit * __double2ll_rn(in_.sums.scale[Columns]));
    }
    const long long whole = cuda::warp_sum(error_.whole), left = cuda::warp_sum(error_.rest);
    if (thread % 32 != 0) return;
    add_whole(in_.sums.error, whole);
    add_whole(in_.sums.error + 1, left);
  }

  const fold_arguments<Scalar>& in_;
  int units_;
  fold_layout layout_;
  Scalar* rows_;
  float4* searched_;
  double* exact_;
  folded_sums sums_;
  unsigned *counts_, *ranked_, *order_;
  folded_error error_;
};

template <class Scalar, int Columns>
__global__ void __launch_bounds__(fold_threads, 2) fold_kernel(fold_arguments<Scalar> in) {
  if constexpr (cuda::has_warpgroup_products) {
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ unsigned long long full;
    __shared__ unsigned of_warps[fold_warps];
    if (threadIdx.x == 0) {
      cuda::make_barrier(&full, 1);
      cuda::publish_barriers();
    }
    __syncthreads();
    cuda::wait_for_predecessor();
    short_fold<Scalar, Columns>(in, memory).run(&full, of_warps);
  }
}

template <class Scalar, int Columns = 1>
void launch_fold(const fold_arguments<Scalar>& in, std::size_t multiprocessors, cudaStream_t stream) {
  if constexpr (Columns < most_folded_columns<Scalar>) {
    if (in.units.columns > Columns) return launch_fold<Scalar, Columns + 1>(in, multiprocessors, stream);
  }
  const fold_layout layout{in.units.units, Columns, in.tile_rows, sizeof(Scalar)};
  const auto tile_rows = static_cast<std::size_t>(in.tile_rows);
  const std::size_t tiles = (static_cast<std::size_t>(in.rows.count) + tile_rows - 1) / tile_rows;
  cuda::launch_in_turn(fold_kernel<Scalar, Columns>, static_cast<unsigned>(std::min(tiles, 2 * multiprocessors)),
                       fold_threads, layout.bytes(), stream, in);
}

}  // namespace

template <class Scalar>
void fold_short_rows(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                     const fixed_sums& sums, std::size_t multiprocessors, cudaStream_t stream) {
  launch_fold(fold_arguments<Scalar>{rows, units, sums, tile_rows}, multiprocessors, stream);
}

}  // namespace shoal::som
