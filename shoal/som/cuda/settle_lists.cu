// The best-matching unit, or the best two, among those that a search by float16 products listed for a row. A warp takes
// a row and measures its units in Scalar; what float32 leaves open float64 sums over the warp's lanes decide, and what
// these leave the definition. Rows whose lists were too short are left for the end of a block, which measures all units
// for them.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/operand_layout.hpp>
#include <shoal/som/cuda/settle_lists.hpp>
#include <shoal/som/cuda/settle_row.cuh>

namespace shoal::som {
namespace {

constexpr int most_listed = 512;    // units of a row that are not looked for among all
constexpr int doubtful_blocks = 3;  // of a multiprocessor
constexpr int together = 4;         // units that a warp measures at a time
constexpr int most_open = 128;      // rows that a block leaves for its end
constexpr int open_turns = most_open / warps;
constexpr std::size_t most_staged_bytes = 4096;   // of a row that a warp keeps in shared memory
constexpr int none_open = -1, several_open = -2;  // for a unit

template <class Scalar, metric Metric>
struct listed_task : row_task<Scalar, Metric, score_kind::lists> {
  using base = row_task<Scalar, Metric, score_kind::lists>;
  using base::in, base::row, base::lane, base::centred, base::exactly, base::bound_of_candidates, base::decide_two;
  // In float32 scores ‖c′‖²/2 − x′·c′ tell units apart that lie together far from the row, whose distances do not.
  static constexpr bool scores = sizeof(Scalar) == 4;
  static constexpr metric form = scores ? metric::cosine : Metric;
  // A score is known as well as its unit is near the centre: units that a mexican hat drives away, less well than those
  // that rows are near, put none of these in doubt.
  static constexpr bool own_errors = scores && Metric == metric::euclidean;

  // What a score may be off by: score_bound() for the norm of the unit alone, in float32 and rounded up. Squares that
  // are lost below the range of float32 leave less than 2⁻⁵⁹ of a length.
  __device__ float error_of(float score, float half_norm, float norm) const {
    constexpr float u = 1.06f * 0x1p-24f;
    const int columns = in.units.columns;
    const float unit = sqrtf(2 * half_norm) * 1.0001f + 0x1p-59f, magnitude = norm * unit + unit * unit;
    if (!(magnitude < 0x1p120f)) return INFINITY;  // sums may have left float32's range on their way
    const float error = static_cast<float>((columns + 31) / 32 + 11) * u * magnitude +
                        0.53f * static_cast<float>(columns + 8) * 0x1p-53f * (norm + unit) * (norm + unit) +
                        static_cast<float>(4 * (columns + 8)) * 0x1p-126f;
    return 1.001f * error + 4 * u * fabsf(score);
  }

  // Scores of a lane's units: what they are at least, and at most.
  struct measured_units {
    least_two<Scalar> near, most;
  };
  // What the least of a row's scores, at most, leaves of them.
  __device__ Scalar limit_of(Scalar most, double norm) const {
    return own_errors ? most : bound_of_candidates(most, norm);
  }

  // The units that may be nearest to row i, into near[most_listed]; returns how many, and -1 where all may be. The
  // lists lie one after another for the lanes, so that a row waits for memory three times, however many there are.
  __device__ int read_lists(int i, int* near) const {
    const listed_centroids& listed = in.rows.listed;
    const std::size_t first = static_cast<std::size_t>(i) * listed.parts;
    const int lists = listed.parts * near_lists;
    float limit = INFINITY;
    for (int part = lane; part < listed.parts; part += 32) limit = fminf(limit, listed.limits[first + part]);
    for (int step = 16; step > 0; step /= 2) limit = fminf(limit, from_lane(limit, step));
    int count = 0;
    for (int start = 0; start < lists; start += 32) {
      const int there = start + lane < lists ? listed.counts[first * near_lists + start + lane] : 0;
      if (__any_sync(all_lanes, there > near_capacity)) return -1;
      int end = there;  // of the lane's list, among the entries of all
      for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(all_lanes, end, step);
        if (lane >= step) end += before;
      }
      const int entries = __shfl_sync(all_lanes, end, 31);
      for (int begin = 0; begin < entries; begin += 32) {
        const int entry = begin + lane;
        int list = 0;  // the first that ends behind the entry
        for (int step = 16; step > 0; step /= 2) {
          if (__shfl_sync(all_lanes, end, list + step - 1) <= entry) list += step;
        }
        const int within = entry - __shfl_sync(all_lanes, end - there, list);
        near_centroid one{0, INFINITY};
        if (entry < entries) one = listed.lists[(first * near_lists + start + list) * near_capacity + within];
        const bool open = entry < entries && one.least <= limit;
        const unsigned all = __ballot_sync(all_lanes, open);
        if (count + __popc(all) > most_listed) return -1;
        if (open) near[count + __popc(all & ((1u << lane) - 1))] = one.centroid;
        count += __popc(all);
      }
    }
    __syncwarp();
    return count;
  }

  // Measures the units n < count of a row of this norm, in lane n % 32; all lanes come here.
  template <class Unit>
  __device__ measured_units measure_units(int count, const Unit& unit_at, double norm) const {
    const int columns = in.units.columns;
    [[maybe_unused]] const float row_norm = static_cast<float>(norm) * 1.0001f + 0x1p-59f;
    measured_units found;
    for (int start = 0; start < count; start += together) {
      const Scalar* from[together];
      Scalar sums[together] = {};
#pragma unroll
      for (int t = 0; t < together; ++t) {
        from[t] = in.units.centred + static_cast<std::size_t>(unit_at(min(start + t, count - 1))) * columns;
      }
#pragma unroll 4
      for (int j = lane; j < columns; j += 32) {
        const Scalar x = centred(j);
#pragma unroll
        for (int t = 0; t < together; ++t) sums[t] = add_column<form>(sums[t], x, from[t][j]);
      }
#pragma unroll
      for (int t = 0; t < together; ++t) {
        for (int step = 16; step > 0; step /= 2) sums[t] += from_lane(sums[t], step);
        if ((start + t) % 32 != lane || start + t >= count) continue;
        const int unit = unit_at(start + t);
        if constexpr (scores) {
          const float half_norm = in.units.half_norms[unit];
          if (half_norm == unlisted_half_norm) continue;
          sums[t] += half_norm;
          if constexpr (own_errors) {
            const float error = error_of(sums[t], half_norm, row_norm);
            const bool known = error < INFINITY;
            found.near.take(known ? sums[t] - error : -INFINITY, unit);
            found.most.take(known ? sums[t] + error : INFINITY, unit);
            continue;
          }
        }
        found.near.take(sums[t], unit);
      }
    }
    if constexpr (!own_errors) found.most = found.near;
    return found;
  }

  // The best of `count` units of which scores or distances in Scalar leave those that are not beyond `bound`.
  template <class Unit>
  __device__ best_two decide(const least_two<Scalar>& near, Scalar bound, int count, const Unit& unit_at) const {
    best_two best;
    if (!(near.second > bound)) {  // several of the lane's
      for (int n = lane; n < count; n += 32) best.take(exactly(unit_at(n)), unit_at(n));
    } else if (!(near.first > bound)) {
      best.take(exactly(near.nearest), near.nearest);
    }
    for (int step = 16; step > 0; step /= 2) best.join(step);
    return best;
  }

  // The lanes of which a unit is not beyond a bound, and those that have several such.
  struct open_lanes {
    unsigned ones, several;
    __device__ open_lanes(const least_two<Scalar>& near, Scalar bound)
        : ones(__ballot_sync(all_lanes, !(near.first > bound))),
          several(__ballot_sync(all_lanes, !(near.second > bound))) {}
    // The only such unit of all lanes, else what there is.
    __device__ int only(const least_two<Scalar>& near) const {
      if (ones == 0) return none_open;
      return __popc(ones) > 1 || several != 0 ? several_open : __shfl_sync(all_lanes, near.nearest, __ffs(ones) - 1);
    }
  };

  // A unit's distance in float64, of the definition's terms in another order.
  __device__ double in_float64(int unit) const {
    const double* const to = in.units.exact + static_cast<std::size_t>(unit) * in.units.columns;
    double sum = 0;
#pragma unroll 8
    for (int j = lane; j < in.units.columns; j += 32)
      sum = add_exactly<Metric>(sum, static_cast<double>(row[j]), to[j]);
    for (int step = 16; step > 0; step /= 2) sum += from_lane(sum, step);
    return sum;
  }

  // Open units by their distances in float64: a lane after the other hands over what it has left, with several all that
  // it measured.
  template <class Unit>
  __device__ least_two<double> measure_open(const open_lanes& open, const least_two<Scalar>& near, int count,
                                            const Unit& unit_at) const {
    least_two<double> wide;
    for (unsigned left = open.ones | open.several; left != 0; left &= left - 1) {
      const int of = __ffs(left) - 1, own = __shfl_sync(all_lanes, near.nearest, of);
      if ((open.several >> of & 1) == 0) {
        wide.take(in_float64(own), own);
      } else {
        for (int n = of; n < count; n += 32) wide.take(in_float64(unit_at(n)), unit_at(n));
      }
    }
    return wide;
  }
  // Whether they prove which one is the nearest.
  __device__ bool decides(const least_two<double>& wide, double norm) const {
    // Units of the cosine are of length 1.
    const double unit = Metric == metric::cosine ? 1.0 : bound_of(in.units.bounds->norm);
    return wide.second > candidate_bound<Metric, double>(wide.first, norm, unit, in.units.columns);
  }

  // The nearer one of two units. The row comes from memory once, for its norm too.
  __device__ int nearer(int a, int b) const {
    const int columns = in.units.columns;
    const double* const to_a = in.units.exact + static_cast<std::size_t>(a) * columns;
    const double* const to_b = in.units.exact + static_cast<std::size_t>(b) * columns;
    double squares = 0, from_a = 0, from_b = 0;
#pragma unroll 8
    for (int j = lane; j < columns; j += 32) {
      const Scalar value = row[j];
      squares = add_to_norm<Metric>(squares, static_cast<double>(value - in.units.centre[j]));
      from_a = add_exactly<Metric>(from_a, static_cast<double>(value), to_a[j]);
      from_b = add_exactly<Metric>(from_b, static_cast<double>(value), to_b[j]);
    }
    for (int step = 16; step > 0; step /= 2) {
      squares += from_lane(squares, step);
      from_a += from_lane(from_a, step);
      from_b += from_lane(from_b, step);
    }
    least_two<double> wide;
    wide.take(from_a, a);
    wide.take(from_b, b);
    if (decides(wide, sqrt(squares))) return wide.nearest;
    best_two best;
    if (lane < 2) best.take(exactly(lane == 0 ? a : b), lane == 0 ? a : b);
    best.join(1);
    return __shfl_sync(all_lanes, best.first_unit, 0);
  }

  // The best two units of row i, the first one -1 where any may be one of them.
  __device__ best_two find_two(int i, double norm, int* memory) const {
    best_two best;
    const int count = read_lists(i, memory);
    if (count < 0) {
      best.first_unit = -1;
      return best;
    }
    const measured_units found = measure_units(
        count, [&](int n) { return memory[n]; }, norm);
    decide_two(
        found.near, found.most, [&](Scalar most) { return limit_of(most, norm); }, best,
        [&] {
          for (int n = lane; n < count; n += 32) best.take(exactly(memory[n]), memory[n]);
        });
    return best;
  }

  // The unit of row i, and -1 where any may be the one.
  __device__ int find(int i, double norm, int* memory) const {
    const int count = read_lists(i, memory);
    if (count < 0) return -1;
    if (count == 1) return memory[0];
    return nearest_of(
        count, [&](int n) { return memory[n]; }, norm);
  }

  // The nearest one of units, `count` of them.
  template <class Unit>
  __device__ int nearest_of(int count, const Unit& unit_at, double norm) const {
    const measured_units found = measure_units(count, unit_at, norm);
    const least_two<Scalar>& near = found.near;
    Scalar nearest = found.most.first;
    for (int step = 16; step > 0; step /= 2) nearest = min_of(nearest, from_lane(nearest, step));
    const Scalar bound = limit_of(nearest, norm);
    const open_lanes open(near, bound);
    if (const int only = open.only(near); only >= 0) return only;
    if constexpr (scores) {
      const least_two<double> wide = measure_open(open, near, count, unit_at);
      if (decides(wide, norm)) return wide.nearest;
    }
    return decide(near, bound, count, unit_at).first_unit;
  }
  __device__ static Scalar min_of(Scalar a, Scalar b) { return b < a ? b : a; }
};

// What the warps of a block tell each other of a row.
template <class Scalar>
struct shared_search {
  Scalar nearest[warps];
  double distances[warps], second_distances[warps];
  int units[warps], second_units[warps];
};

// The unit of a row among all, or the best two, by a whole block.
template <bool Two, class Scalar, metric Metric>
__device__ best_two find_among_all(const listed_task<Scalar, Metric>& task, double norm,
                                   shared_search<Scalar>& shared) {
  const int warp = threadIdx.x / 32, units = task.in.units.units;
  const int first = static_cast<int>(static_cast<long long>(units) * warp / warps);
  const int count = static_cast<int>(static_cast<long long>(units) * (warp + 1) / warps) - first;
  const auto unit_at = [&](int n) { return first + n; };
  const auto found = task.measure_units(count, unit_at, norm);
  // Of two units the second is no farther than the second of any warp's.
  Scalar nearest = found.most.first, second = found.most.second;
  for (int step = 16; step > 0; step /= 2) {
    const Scalar other = from_lane(nearest, step), next = from_lane(second, step);
    second = task.min_of(task.min_of(second, next), other < nearest ? nearest : other);
    nearest = task.min_of(nearest, other);
  }
  if constexpr (Two) nearest = second;
  __syncthreads();  // what was shared of the row before has been read
  shared.nearest[warp] = nearest;
  __syncthreads();
  for (int w = 0; w < warps; ++w) nearest = task.min_of(nearest, shared.nearest[w]);
  const Scalar bound = task.limit_of(nearest, norm);
  if constexpr (!Two) {
    // The only one that is left needs no distance.
    const typename listed_task<Scalar, Metric>::open_lanes open(found.near, bound);
    const int left = open.only(found.near);
    if (task.lane == 0) shared.units[warp] = left;
    __syncthreads();
    best_two best;
    int only = none_open;
    for (int w = 0; w < warps; ++w) {
      const int other = shared.units[w];
      if (other != none_open) only = only == none_open ? other : several_open;
    }
    best.first_unit = only;
    if (only >= 0) return best;
    __syncthreads();
    if constexpr (listed_task<Scalar, Metric>::scores) {
      const least_two<double> own = task.measure_open(open, found.near, count, unit_at);
      if (task.lane == 0) {
        shared.distances[warp] = own.first;
        shared.units[warp] = own.nearest;
        shared.second_distances[warp] = own.second;
      }
      __syncthreads();
      least_two<double> wide;
      for (int w = 0; w < warps; ++w) {
        wide.take(shared.distances[w], shared.units[w]);
        wide.take(shared.second_distances[w], shared.units[w]);
      }
      best.first_unit = wide.nearest;
      if (task.decides(wide, norm)) return best;
      __syncthreads();
    }
  }
  const best_two best = task.decide(found.near, bound, count, unit_at);
  shared.distances[warp] = best.first;
  shared.units[warp] = best.first_unit;
  shared.second_distances[warp] = best.second;
  shared.second_units[warp] = best.second_unit;
  __syncthreads();
  best_two all;
  for (int w = 0; w < warps; ++w) {
    all.take(shared.distances[w], shared.units[w]);
    if constexpr (Two) all.take(shared.second_distances[w], shared.second_units[w]);
  }
  return all;
}

template <class Scalar>
__host__ __device__ bool stays(int columns) {
  return columns * sizeof(Scalar) <= most_staged_bytes;
}

template <class Scalar, metric Metric, bool Two, bool Wide>
__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  extern __shared__ __align__(16) unsigned char dynamic_memory[];
  __shared__ int listed[warps][most_listed];
  __shared__ shared_search<Scalar> shared;
  __shared__ int open[most_open], open_count;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = in.units.columns;
  if (threadIdx.x == 0) open_count = 0;
  __syncthreads();
  row_terms<Scalar, Metric, Wide> terms(in, lane);
  Scalar* const staged = stays<Scalar>(columns) ? reinterpret_cast<Scalar*>(dynamic_memory) + warp * columns : nullptr;
  const auto task_of = [&](int i) {
    return listed_task<Scalar, Metric>{{in, in.rows.rows + static_cast<std::size_t>(i) * columns, staged, lane}};
  };
  const auto add = [&](int i, const best_two& best, double norm) {
    terms.add(i, best.first_unit, norm);
    if constexpr (Two) terms.add_torn(i, best);
  };
  // All warps of a block make as many turns, and empty the list of open rows together before it may be full.
  const int turn_rows = static_cast<int>(gridDim.x) * warps;
  int turns = 0;
  for (int turn = static_cast<int>(blockIdx.x) * warps; turn < in.rows.count; turn += turn_rows) {
    const int i = turn + warp;
    if (i < in.rows.count) {
      const listed_task<Scalar, Metric> task = task_of(i);
      bool zero = true;
      const double norm = norm_of_row<Metric>(in, task.row, staged, lane, zero);
      const bool alike = Metric == metric::cosine && zero;  // every unit is at distance 1
      best_two best;
      if constexpr (Two) {
        if (alike) {
          best.first_unit = 0, best.second_unit = 1;
        } else {
          best = task.find_two(i, norm, listed[warp]);
        }
      } else {
        best.first_unit = alike ? 0 : task.find(i, norm, listed[warp]);
      }
      if (best.first_unit >= 0) {
        add(i, best, norm);
      } else if (lane == 0) {
        open[atomicAdd(&open_count, 1)] = i;
      }
    }
    const bool last = turn + turn_rows >= in.rows.count;
    if (!last && ++turns % open_turns != 0) continue;
    __syncthreads();
    for (int n = 0; n < open_count; ++n) {
      const listed_task<Scalar, Metric> task = task_of(open[n]);
      bool zero = true;
      const double norm = norm_of_row<Metric>(in, task.row, staged, lane, zero);
      const best_two best = find_among_all<Two>(task, norm, shared);
      if (warp == n % warps) add(open[n], best, norm);
    }
    __syncthreads();
    if (threadIdx.x == 0) open_count = 0;
    __syncthreads();
  }
  terms.finish();
}

// Of doubtful rows a warp takes one: those with two units left, then the others. The last block leaves none of them.
template <class Scalar>
__global__ void __launch_bounds__(32 * warps, doubtful_blocks) settle_doubtful_kernel(settle_arguments<Scalar> in) {
  cuda::wait_for_predecessor();
  extern __shared__ __align__(16) unsigned char dynamic_memory[];
  constexpr metric euclidean = metric::euclidean;
  const doubtful_rows& doubtful = in.rows.doubtful;
  const unsigned pairs = doubtful.counts[0], open = doubtful.counts[1];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = in.units.columns;
  Scalar* const staged = stays<Scalar>(columns) ? reinterpret_cast<Scalar*>(dynamic_memory) + warp * columns : nullptr;
  for (unsigned n = blockIdx.x * warps + warp; n < pairs + open; n += gridDim.x * warps) {
    const bool pair = n < pairs;
    const int2 entry = doubtful.list[pair ? n : doubtful.capacity - 1 - (n - pairs)];
    const int i = entry.x;
    const listed_task<Scalar, euclidean> task{
        {in, in.rows.rows + static_cast<std::size_t>(i) * columns, pair ? nullptr : staged, lane}};
    int unit = 0;
    if (pair) {
      unit = task.nearer(in.to.labels[i], entry.y);
    } else {
      bool zero = true;
      const double norm = norm_of_row<euclidean, Scalar>(in, task.row, staged, lane, zero);
      unit = task.nearest_of(
          in.units.units, [](int k) { return k; }, norm);
    }
    if (lane == 0) in.to.labels[i] = unit;
  }
  __syncthreads();  // every warp has read the counts
  if (threadIdx.x == 0 && atomicInc(doubtful.counts + 2, gridDim.x - 1) == gridDim.x - 1) {
    doubtful.counts[0] = doubtful.counts[1] = 0;
  }
}

template <class Scalar, metric Metric, bool Wide>
void launch_rows(const settle_arguments<Scalar>& in, std::size_t multiprocessors, cudaStream_t stream) {
  const std::size_t blocks =
      std::min<std::size_t>((static_cast<std::size_t>(in.rows.count) + warps - 1) / warps, 16 * multiprocessors);
  const int columns = in.units.columns;
  const std::size_t shared = stays<Scalar>(columns) ? warps * columns * sizeof(Scalar) : 0;
  const auto kernel =
      in.to.shape != nullptr ? settle_kernel<Scalar, Metric, true, Wide> : settle_kernel<Scalar, Metric, false, Wide>;
  cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), 32 * warps, shared, stream, in);
}

template <class Scalar, metric Metric>
void launch(const settle_arguments<Scalar>& in, std::size_t multiprocessors, cudaStream_t stream) {
  if constexpr (!in_parts(least_float16_columns<Scalar>)) {
    if (!in_parts(in.units.columns)) return launch_rows<Scalar, Metric, false>(in, multiprocessors, stream);
  }
  launch_rows<Scalar, Metric, true>(in, multiprocessors, stream);
}

}  // namespace

template <class Scalar>
void settle_lists(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                  std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<Scalar> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  if (to.shape != nullptr) in.shape = *to.shape;
  if (units.metric == metric::cosine) return launch<Scalar, metric::cosine>(in, multiprocessors, stream);
  launch<Scalar, metric::euclidean>(in, multiprocessors, stream);
}
template void settle_lists(const searched_rows<float>&, const device_units<float>&, const settled_rows&, std::size_t,
                           cudaStream_t);
template void settle_lists(const searched_rows<double>&, const device_units<double>&, const settled_rows&, std::size_t,
                           cudaStream_t);

template <class Scalar>
void settle_doubtful(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                     std::size_t multiprocessors, cudaStream_t stream) {
  const settle_arguments<Scalar> in{rows, units, to, {}, {}};
  const std::size_t shared = stays<Scalar>(units.columns) ? warps * units.columns * sizeof(Scalar) : 0;
  cuda::launch_in_turn(settle_doubtful_kernel<Scalar>, static_cast<unsigned>(doubtful_blocks * multiprocessors),
                       32 * warps, shared, stream, in);
}
template void settle_doubtful(const searched_rows<float>&, const device_units<float>&, const settled_rows&, std::size_t,
                              cudaStream_t);
template void settle_doubtful(const searched_rows<double>&, const device_units<double>&, const settled_rows&,
                              std::size_t, cudaStream_t);

}  // namespace shoal::som
