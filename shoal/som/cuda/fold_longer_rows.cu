// Rows of tens of columns beside few units are read once: a block has a tile of them in shared memory, searches units
// for them, sorts the tile by label, and its warps add up runs of one label in registers. Eight threads share a row in
// the search and keep their columns of it in registers, while units come by. What scores in float32 leave open the warp
// decides in float64. Sums are of whole numbers: no order changes them.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/execution/cuda/warpgroup.cuh>
#include <shoal/som/cuda/fold_longer_rows.hpp>
#include <shoal/som/cuda/fold_tile.cuh>
#include <shoal/som/cuda/searched_numbers.cuh>

namespace shoal::som {
namespace {

struct longer_arguments {
  searched_rows<float> rows;
  device_units<float> units;
  fixed_sums sums;
  int tile_rows;
};

constexpr int splits = 8;                             // threads that share a row
constexpr int row_groups = 32 / splits;               // of threads in a warp
constexpr int each = 2;                               // rows of a group, which share the units that it loads
constexpr int searched_together = row_groups * each;  // rows of a warp
constexpr int scored_together = splits;               // units whose scores a thread adds up at a time
constexpr int batch = summed_together;

// The sums of eight numbers each over the eight threads of a row: thread s gets that of number s.
__device__ inline float own_sum(const float (&values)[splits]) {
  const int lane = static_cast<int>(threadIdx.x);
  float four[4], two[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const bool upper = lane & 4;
    four[i] = (upper ? values[i + 4] : values[i]) + from_lane(upper ? values[i] : values[i + 4], 4);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const bool upper = lane & 2;
    two[i] = (upper ? four[i + 2] : four[i]) + from_lane(upper ? four[i] : four[i + 2], 2);
  }
  const bool upper = lane & 1;
  return (upper ? two[1] : two[0]) + from_lane(upper ? two[0] : two[1], 1);
}

template <int Slots>
class longer_fold {
  static constexpr int numbers = 4 * Slots;  // of a row that a thread has

 public:
  __device__ longer_fold(const longer_arguments& in, unsigned char* memory)
      : in_(in),
        units_(in.units.units),
        columns_(in.units.columns),
        layout_{in.units.units, in.units.columns, in.tile_rows},
        rows_(reinterpret_cast<float*>(memory)),
        searched_(reinterpret_cast<float4*>(memory + layout_.searched())),
        exact_(reinterpret_cast<double*>(memory + layout_.exact())),
        squares_(reinterpret_cast<double*>(memory + layout_.squares())),
        starts_(reinterpret_cast<float*>(memory + layout_.starts())),
        centre_(reinterpret_cast<float*>(memory + layout_.centre())),
        sums_{reinterpret_cast<unsigned*>(memory + layout_.sums()), in.units.units * in.units.columns},
        rests_{sums_.memory + 2 * sums_.values, sums_.values},
        counts_(reinterpret_cast<unsigned*>(memory + layout_.counts())),
        ranked_(reinterpret_cast<unsigned*>(memory + layout_.ranked())),
        order_(reinterpret_cast<unsigned*>(memory + layout_.order())) {}

  __device__ void run(unsigned long long* full, unsigned* of_warps) {
    const int thread = static_cast<int>(threadIdx.x), total = in_.rows.count;
    const fetched_tiles<float> tiles{in_.rows.rows, total, columns_, in_.tile_rows, rows_};
    int first = static_cast<int>(blockIdx.x) * in_.tile_rows;
    if (thread == 0) tiles.fetch(first, full);
    stage_units();
    folded_error error;
    error.scale = error_scale(in_.sums, bound_of(in_.units.bounds->norm));
    error.rest_scale = in_.sums.rest_scale;
    const auto unit_norm = static_cast<float>(bound_of(in_.units.bounds->norm) * 1.0001);
    int rows_of_unit = 0;  // of the thread's number
    for (unsigned phase = 0; first < total; first += static_cast<int>(gridDim.x) * in_.tile_rows, phase ^= 1) {
      const int count = min(in_.tile_rows, total - first);
      if (thread < units_) counts_[thread] = 0;
      cuda::wait(full, phase);
      tiles.take_tail(first);
      __syncthreads();
      const int next = first + static_cast<int>(gridDim.x) * in_.tile_rows;
      if (thread == 0 && next < total) tiles.prefetch(next);
      for (int begin = thread / 32 * searched_together; begin < count; begin += fold_warps * searched_together) {
        search(begin, count, unit_norm);
      }
      __syncthreads();
      for (int begin = 0; begin < count; begin += fold_threads) {
        const int i = begin + thread;
        const bool there = i < count;
        const int label = there ? static_cast<int>(ranked_[i]) : 0;
        const unsigned rank = rank_of(counts_, units_, label, there);
        if (there) ranked_[i] = static_cast<unsigned>(label) << fold_row_bits | rank;
      }
      __syncthreads();
      rows_of_unit += sort_ranked(count, units_, counts_, ranked_, order_, of_warps);
      add_up(count);
      __syncthreads();
      if (thread == 0 && next < total) tiles.fetch(next, full);
      for (int i = thread; i < count; i += fold_threads) error.add(sqrt(squares_[i]));
    }
    finish(rows_of_unit, error);
  }

 private:
  // Of the groups of 32 columns, thread s of a row has those of which the rest by eight is s.
  __device__ void stage_units() const {
    auto* const numbers_of_units = reinterpret_cast<float*>(searched_);
    for (int i = static_cast<int>(threadIdx.x); i < units_ * 32 * Slots; i += fold_threads) {
      const int place = i % units_, j = i / units_;
      const float value =
          j < columns_ ? in_.units.turned[static_cast<std::size_t>(j) * in_.units.padded + place] : 0.0f;
      numbers_of_units[(place * Slots + j / 32) * 32 + j % splits * 4 + j % 32 / splits] = value;
    }
    for (int i = static_cast<int>(threadIdx.x); i < units_ * columns_; i += fold_threads) {
      exact_[i / columns_ * layout_.exact_numbers() + i % columns_] = in_.units.exact[i];
    }
    for (int i = static_cast<int>(threadIdx.x); i < units_; i += fold_threads) {
      starts_[i] = fminf(in_.units.starts[i], 0x1p126f);
    }
    for (int i = static_cast<int>(threadIdx.x); i < 32 * Slots; i += fold_threads) {
      centre_[i] = i < columns_ ? in_.units.centre[i] : 0.0f;
    }
    for (int i = static_cast<int>(threadIdx.x); i < 4 * sums_.values; i += fold_threads) sums_.memory[i] = 0;
    __syncthreads();
  }

  // A thread's numbers of a row about the centre, zeros beyond the last column. The groups of threads begin with
  // different ones, so that rows which begin in the same bank are read from different ones.
  __device__ void take_row(int at, float (&x)[numbers]) const {
    const int s = static_cast<int>(threadIdx.x) % splits, group = static_cast<int>(threadIdx.x) % 32 / splits;
    const float* const row = rows_ + at * columns_;
#pragma unroll
    for (int t = 0; t < Slots; ++t) {
      float raw[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int j = 32 * t + splits * ((e + group) % 4) + s;
        raw[e] = j < columns_ ? row[j] - centre_[j] : 0.0f;
      }
      const bool one = group & 1, two = group & 2;
      float turned[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) turned[e] = one ? raw[(e + 3) % 4] : raw[e];
#pragma unroll
      for (int e = 0; e < 4; ++e) x[4 * t + e] = two ? turned[(e + 2) % 4] : turned[e];
    }
  }

  // The units of searched_together rows from `begin` on, into `ranked`.
  __device__ void search(int begin, int count, float unit_norm) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, s = lane % splits, group = lane / splits;
    float x[each][numbers], norm[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      take_row(min(begin + i * row_groups + group, count - 1), x[i]);
      float squares = 0;
#pragma unroll
      for (int n = 0; n < numbers; ++n) squares = fmaf(x[i][n], x[i][n], squares);
#pragma unroll
      for (int step = splits / 2; step > 0; step /= 2) squares += from_lane(squares, step);
      norm[i] = sqrtf(squares) * 1.0001f + 0x1p-59f;
    }
    least_two<float> near[each];
    for (int first = 0; first < units_; first += scored_together) {
      float sums[each][scored_together];
#pragma unroll
      for (int u = 0; u < scored_together; ++u) {
#pragma unroll
        for (int i = 0; i < each; ++i) sums[i][u] = 0;
        if (first + u >= units_) continue;
        const float4* const unit = searched_ + (first + u) * Slots * splits + s;
#pragma unroll
        for (int t = 0; t < Slots; ++t) {
          const float4 c = unit[t * splits];
#pragma unroll
          for (int i = 0; i < each; ++i) {
            sums[i][u] = fmaf(-x[i][4 * t], c.x, sums[i][u]);
            sums[i][u] = fmaf(-x[i][4 * t + 1], c.y, sums[i][u]);
            sums[i][u] = fmaf(-x[i][4 * t + 2], c.z, sums[i][u]);
            sums[i][u] = fmaf(-x[i][4 * t + 3], c.w, sums[i][u]);
          }
        }
      }
      const bool there = first + s < units_;
      const float start = starts_[min(first + s, units_ - 1)];
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const float score = own_sum(sums[i]) + start;
        near[i].take(there ? score : static_cast<float>(INFINITY), first + s);
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) {
#pragma unroll
      for (int step = splits / 2; step > 0; step /= 2) {
        const float other = from_lane(near[i].first, step), next = from_lane(near[i].second, step);
        const int place = from_lane(near[i].nearest, step);
        near[i].second = fminf(fminf(near[i].second, next), fmaxf(near[i].first, other));
        // Equals are in doubt.
        if (other < near[i].first) near[i].nearest = place;
        near[i].first = fminf(near[i].first, other);
      }
      const int at = begin + i * row_groups + group;
      const float bound = short_bound(columns_, numbers + 4, near[i].first, norm[i], unit_norm);
      const bool doubtful = s == 0 && at < count && !(near[i].second > bound);
      int label = in_.units.at_place[min(near[i].nearest, units_ - 1)];
      for (unsigned left = __ballot_sync(all_lanes, doubtful); left != 0; left &= left - 1) {
        const int other = __ffs(static_cast<int>(left)) - 1;
        const int nearest = decide(begin + i * row_groups + other / splits, unit_norm);
        if (lane == other) label = nearest;
      }
      if (s == 0 && at < count) ranked_[at] = static_cast<unsigned>(label);
    }
  }

  // The unit of a row, by all lanes of a warp: of those that scores leave the definition decides.
  __device__ int decide(int at, float unit_norm) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const float* const row = rows_ + at * columns_;
    const auto* const numbers_of_units = reinterpret_cast<const float*>(searched_);
    float squares = 0;
    for (int j = lane; j < columns_; j += 32) squares = fmaf(row[j] - centre_[j], row[j] - centre_[j], squares);
    squares = cuda::warp_sum(squares);
    const auto score = [&](int place) {
      float sum = starts_[place];
      for (int j = 0; j < columns_; ++j) {
        const float c = numbers_of_units[(place * Slots + j / 32) * 32 + j % splits * 4 + j % 32 / splits];
        sum = fmaf(centre_[j] - row[j], c, sum);
      }
      return sum;
    };
    least_two<float> near;
    for (int place = lane; place < units_; place += 32) near.take(score(place), place);
    float least = near.first;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) least = fminf(least, from_lane(least, step));
    const float bound = short_bound(columns_, columns_, least, sqrtf(squares) * 1.0001f + 0x1p-59f, unit_norm);
    best_two best;
    for (int place = lane; place < units_; place += 32) {
      if (score(place) > bound) continue;
      const int unit = in_.units.at_place[place];
      double sum = 0;
      for (int j = 0; j < columns_; ++j) {
        sum = add_exactly<metric::euclidean>(sum, static_cast<double>(row[j]),
                                             exact_[unit * layout_.exact_numbers() + j]);
      }
      best.take(sum, unit);
    }
    for (int step = 16; step > 0; step /= 2) best.join(step);
    return best.first_unit;
  }

  // Runs of one label: each warp takes a part of the order.
  __device__ void add_up(int count) const {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    const int length = (count + fold_warps - 1) / fold_warps;
    const int begin = min(warp * length, count), end = min(begin + length, count);
    double centre[Slots], scale[Slots], own[Slots];
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
      const int j = min(lane + 32 * s, columns_ - 1);
      centre[s] = static_cast<double>(centre_[j]);
      scale[s] = in_.sums.scale[j];
      own[s] = 0;
    }
    const double rest_scale = in_.sums.rest_scale;
    int run = -1;
    run_sums<Slots, true> sums;
    const auto begin_run = [&](int label) {
      if (label == run) return;
      if (run >= 0) end_run(run, sums);
      run = label;
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        if (lane + 32 * s < columns_) own[s] = exact_[label * layout_.exact_numbers() + lane + 32 * s];
      }
    };
    const auto add_row = [&](unsigned entry) {
      const float* const row = rows_ + static_cast<int>(entry & ((1u << fold_row_bits) - 1)) * columns_;
      double distance = 0;
      ++sums.rows;
#pragma unroll
      for (int s = 0; s < Slots; ++s) {
        const int j = lane + 32 * s;
        const auto wide = static_cast<double>(j < columns_ ? row[j] : 0.0f);
        sums.add(s, wide - centre[s], 1.0, scale[s], rest_scale);
        // Beyond the last column both are zero.
        distance = add_exactly<metric::euclidean>(distance, wide, own[s]);
      }
      return distance;
    };
    for (int i = begin; i < end; i += batch) {
      unsigned entries[batch];
      double distances[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) entries[b] = order_[min(i + b, end - 1)];
      static_assert(batch == 4);
      const unsigned label = entries[0] >> fold_row_bits;
      const bool alike = i + batch <= end && label == entries[3] >> fold_row_bits;  // they are in order
      if (alike) {
        begin_run(static_cast<int>(label));
#pragma unroll
        for (int b = 0; b < batch; ++b) distances[b] = add_row(entries[b]);
      } else {
#pragma unroll
        for (int b = 0; b < batch; ++b) {
          distances[b] = 0;
          if (i + b >= end) continue;
          begin_run(static_cast<int>(entries[b] >> fold_row_bits));
          distances[b] = add_row(entries[b]);
        }
      }
      const double sum = sum_each<32>(distances);
      const int mine = i + number_of_lane<32>();
      if (lane % 8 == 0 && mine < end) squares_[mine] = sum;
    }
    if (run >= 0) end_run(run, sums);
  }
  __device__ void end_run(int run, run_sums<Slots, true>& sums) const {
    const long long shifted = sums.shifted();
#pragma unroll
    for (int s = 0; s < Slots; ++s) {
      const int j = static_cast<int>(threadIdx.x) % 32 + 32 * s;
      if (j >= columns_) continue;
      sums_.add(run * columns_ + j, sums.whole[s] - shifted);
      rests_.add(run * columns_ + j, sums.rest[s] - shifted);
    }
    sums = {};
  }

  // The block's sums into those of all blocks.
  __device__ void finish(int rows_of_unit, const folded_error& error) const {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int i = thread; i < sums_.values; i += fold_threads) {
      const int at = i / columns_ * (columns_ + 1) + i % columns_;
      add_whole(in_.sums.whole + at, sums_.read(i));
      add_whole(in_.sums.rest + at, rests_.read(i));
    }
    if (thread < units_) {
      add_whole(in_.sums.whole + thread * (columns_ + 1) + columns_,
                rows_of_unit * __double2ll_rn(in_.sums.scale[columns_]));
    }
    const long long whole = cuda::warp_sum(error.whole), left = cuda::warp_sum(error.rest);
    if (thread % 32 != 0) return;
    add_whole(in_.sums.error, whole);
    add_whole(in_.sums.error + 1, left);
  }

  const longer_arguments& in_;
  int units_, columns_;
  longer_layout layout_;
  float* rows_;
  float4* searched_;
  double *exact_, *squares_;
  float *starts_, *centre_;
  folded_sums sums_, rests_;
  unsigned *counts_, *ranked_, *order_;
};

template <int Slots>
__global__ void __launch_bounds__(fold_threads, 2) fold_kernel(longer_arguments in) {
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
    longer_fold<Slots>(in, memory).run(&full, of_warps);
  }
}

template <int Slots = 1>
void launch_fold(const longer_arguments& in, std::size_t multiprocessors, cudaStream_t stream) {
  if constexpr (32 * Slots < most_longer_columns) {
    if (in.units.columns > 32 * Slots) return launch_fold<Slots + 1>(in, multiprocessors, stream);
  }
  const longer_layout layout{in.units.units, in.units.columns, in.tile_rows};
  const auto tile_rows = static_cast<std::size_t>(in.tile_rows);
  const std::size_t tiles = (static_cast<std::size_t>(in.rows.count) + tile_rows - 1) / tile_rows;
  cuda::launch_in_turn(fold_kernel<Slots>, static_cast<unsigned>(std::min(tiles, 2 * multiprocessors)), fold_threads,
                       layout.bytes(), stream, in);
}

}  // namespace

void fold_longer_rows(int tile_rows, const searched_rows<float>& rows, const device_units<float>& units,
                      const fixed_sums& sums, std::size_t multiprocessors, cudaStream_t stream) {
  launch_fold(longer_arguments{rows, units, sums, tile_rows}, multiprocessors, stream);
}

}  // namespace shoal::som
