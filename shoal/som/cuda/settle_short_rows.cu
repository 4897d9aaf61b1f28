// Rows of few columns, where tensor cores would multiply padding and a warp for each row would idle: a thread searches
// all units for its rows, the warp settles what float32 leaves open, and rows are added to the sums at once.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/settle_row.cuh>
#include <shoal/som/cuda/settle_short_rows.hpp>

namespace shoal::som {
namespace {

// Units whose scores are compared with each other before the least of them is with the others'.
constexpr int column_units = 16;
constexpr int each = 4;  // rows of a thread, which share the units that it loads
constexpr int block_rows = 32 * warps * each;
constexpr int most_staged_units = 4096;  // in shared memory at a time
constexpr int most_shared_sums = 6144;   // of a block, before they go to those of all blocks

// One row about the centre.
template <int Columns>
struct short_row {
  const float* row;
  float x[Columns];
  double norm = 0;

  __device__ void read(const settle_arguments<float>& in, int i) {
    row = in.rows.rows + static_cast<std::size_t>(i) * Columns;
    norm = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[j] = row[j] - in.units.centre[j];
      norm = add_to_norm<metric::euclidean>(norm, static_cast<double>(x[j]));
    }
    norm = norm_of<metric::euclidean>(norm);
  }
  // Of a unit, as the search finds it.
  __device__ float score(const float (&c)[4], float start) const {
    float sum = start;
#pragma unroll
    for (int j = 0; j < Columns; ++j) sum = fmaf(-x[j], c[j], sum);
    return sum;
  }
  __device__ double exactly(const device_units<float>& units, int unit) const {
    double sum = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      sum = add_exactly<metric::euclidean>(sum, static_cast<double>(row[j]),
                                           units.exact[static_cast<std::size_t>(unit) * Columns + j]);
    }
    return sum;
  }
};

// What a thread reads of units: c′ with the start of its scores in the last place, or behind all units where four
// columns fill the places. In shared memory all of them, or a part at a time.
template <int Columns>
struct staged_units {
  const device_units<float>& units;
  float4* memory;

  // Places up to the last unit, in whole columns.
  __device__ int places() const { return (units.units + column_units - 1) / column_units * column_units; }
  __device__ bool all_fit() const { return places() <= most_staged_units; }
  __device__ float* starts() const { return reinterpret_cast<float*>(memory + min(units.padded, most_staged_units)); }

  // Every thread of a block comes here.
  __device__ void stage(int begin, int count) const {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 32 * warps) {
      float c[4] = {};
#pragma unroll
      for (int j = 0; j < Columns; ++j) c[j] = units.turned[static_cast<std::size_t>(j) * units.padded + begin + i];
      if constexpr (Columns < 4) c[3] = units.starts[begin + i];
      memory[i] = make_float4(c[0], c[1], c[2], c[3]);
      if constexpr (Columns == 4) starts()[i] = units.starts[begin + i];
    }
    __syncthreads();
  }
  // That at a place of those in shared memory.
  __device__ float read(int i, float (&c)[4]) const {
    const float4 four = memory[i];
    c[0] = four.x, c[1] = four.y, c[2] = four.z, c[3] = four.w;
    if constexpr (Columns == 4) return starts()[i];
    return four.w;
  }
  // That at any place.
  __device__ float read_any(int place, float (&c)[4]) const {
    if (all_fit()) return read(place, c);
#pragma unroll
    for (int j = 0; j < Columns; ++j) c[j] = units.turned[static_cast<std::size_t>(j) * units.padded + place];
    return units.starts[place];
  }
};

// The columns of units with the least scores of a thread's rows: the least, where it is, and that of the next column.
template <int Columns>
__device__ void search_columns(const staged_units<Columns>& staged, const short_row<Columns> (&rows)[each], bool again,
                               least_two<float> (&least)[each]) {
  const int places = staged.places();
  for (int begin = 0; begin < places; begin += most_staged_units) {
    const int count = min(most_staged_units, places - begin);
    if (again || !staged.all_fit()) staged.stage(begin, count);
    for (int first = 0; first < count; first += column_units) {
      float smallest[each];
#pragma unroll
      for (int r = 0; r < each; ++r) smallest[r] = INFINITY;
#pragma unroll
      for (int u = 0; u < column_units; ++u) {
        float c[4];
        const float start = staged.read(first + u, c);
#pragma unroll
        for (int r = 0; r < each; ++r) smallest[r] = fminf(smallest[r], rows[r].score(c, start));
      }
#pragma unroll
      for (int r = 0; r < each; ++r) least[r].take(smallest[r], begin + first);
    }
  }
}

// The unit of each of a thread's rows; the threads of a warp help each other with those that float32 leaves open.
template <int Columns>
__device__ void find_units(const settle_arguments<float>& in, const staged_units<Columns>& staged,
                           const short_row<Columns> (&rows)[each], const least_two<float> (&least)[each],
                           int (&labels)[each]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double unit_norm = bound_of(in.units.bounds->norm);
#pragma unroll
  for (int r = 0; r < each; ++r) {
    least_two<float> near;
    // Columns begin in the same banks of shared memory: each lane begins elsewhere. Of equals none is alone.
    for (int u = 0; u < column_units; ++u) {
      const int place = least[r].nearest + (u + lane) % column_units;
      float c[4];
      const float start = staged.read_any(place, c);
      near.take(rows[r].score(c, start), place);
    }
    // Units that are farther from the centre than the row and the unit found, by twice, are farther from the row; with
    // a mexican hat a few are, far enough to put all others in doubt by their norm.
    const double apart = sqrt(fmax(0.0, rows[r].norm * rows[r].norm + 2 * static_cast<double>(near.first)));
    const double near_norm = fmin(unit_norm, 2 * (rows[r].norm + apart));
    const float bound = score_bound<metric::euclidean>(near.first, rows[r].norm, near_norm, Columns, Columns);
    const bool alone = near.second > bound && least[r].second > bound && near.nearest < in.units.units;
    labels[r] = alone ? in.units.at_place[near.nearest] : -1;
    for (unsigned left = __ballot_sync(all_lanes, !alone); left != 0; left &= left - 1) {
      const int other = __ffs(left) - 1;
      const float most = __shfl_sync(all_lanes, bound, other);
      short_row<Columns> its;
      its.row = reinterpret_cast<const float*>(
          __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(rows[r].row), other));
#pragma unroll
      for (int j = 0; j < Columns; ++j) its.x[j] = __shfl_sync(all_lanes, rows[r].x[j], other);
      best_two best;
      for (int place = lane; place < in.units.units; place += 32) {
        float c[4];
        const float start = staged.read_any(place, c);
        if (its.score(c, start) > most) continue;
        const int unit = in.units.at_place[place];
        best.take(its.exactly(in.units, unit), unit);
      }
      for (int step = 16; step > 0; step /= 2) best.join(step);
      if (lane == other) labels[r] = best.first_unit;
    }
  }
}

// Whole parts of a block's sums in two halves, which shared memory has atomics for: those of a column lie together.
class block_sums {
 public:
  __device__ block_sums(unsigned* memory, int units, int columns)
      : low_(memory), high_(memory + units * (columns + 1)), units_(units), columns_(columns) {
    for (int i = static_cast<int>(threadIdx.x); i < 2 * units * (columns + 1); i += 32 * warps) low_[i] = 0;
    __syncthreads();
  }
  __device__ void add(int unit, int j, long long value) const {
    const auto bits = static_cast<unsigned long long>(value);
    const auto low = static_cast<unsigned>(bits);
    const int at = j * units_ + unit;
    const unsigned before = atomicAdd(low_ + at, low);
    const unsigned high = static_cast<unsigned>(bits >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(high_ + at, high);
  }
  // Every thread of a block comes here.
  __device__ void finish(long long* whole) const {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < units_ * (columns_ + 1); i += 32 * warps) {
      const int at = i % (columns_ + 1) * units_ + i / (columns_ + 1);
      const unsigned long long sum = static_cast<unsigned long long>(high_[at]) << 32 | low_[at];
      if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(whole) + i, sum);
    }
  }

 private:
  unsigned *low_, *high_;
  int units_, columns_;
};

// With `Together` a block's sums lie in shared memory behind the units, at byte `sums_at`.
template <int Columns, bool Together>
__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<float> in, int sums_at) {
  cuda::wait_for_predecessor();
  extern __shared__ float4 shared[];
  const staged_units<Columns> staged{in.units, shared};
  const auto together = [&] {
    if constexpr (Together) {
      return block_sums(reinterpret_cast<unsigned*>(reinterpret_cast<unsigned char*>(shared) + sums_at), in.units.units,
                        Columns);
    } else {
      return 0;
    }
  }();
  const auto add = [&](int unit, int j, double value) {
    const std::size_t at = static_cast<std::size_t>(unit) * (Columns + 1) + static_cast<std::size_t>(j);
    if constexpr (Together) {
      const fixed_number fixed(value, in.sums.scale[j], in.sums.rest_scale);
      together.add(unit, j, fixed.whole);
      fixed.add_rest(in.sums.rest + at);
    } else {
      add_fixed(in.sums.whole + at, in.sums.rest + at, value, in.sums.scale[j], in.sums.rest_scale);
    }
  };
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double scale = in.to.sums == nullptr ? 0 : error_scale(in.sums, bound_of(in.units.bounds->norm));
  long long error_whole = 0, error_rest = 0;
  bool again = true;
  for (int begin = static_cast<int>(blockIdx.x) * block_rows; begin < in.rows.count;
       begin += static_cast<int>(gridDim.x) * block_rows) {
    short_row<Columns> rows[each];
    least_two<float> least[each];
    int labels[each];
    const int first = begin + static_cast<int>(threadIdx.x);
#pragma unroll
    for (int r = 0; r < each; ++r) rows[r].read(in, min(first + r * 32 * warps, in.rows.count - 1));
    search_columns<Columns>(staged, rows, again, least);
    again = false;
    find_units<Columns>(in, staged, rows, least, labels);
#pragma unroll
    for (int r = 0; r < each; ++r) {
      const int i = first + r * 32 * warps, label = labels[r];
      if (i >= in.rows.count) continue;
      if (in.to.labels != nullptr) in.to.labels[i] = label;
      if (in.to.sums == nullptr) continue;
      const double weight = in.rows.weights == nullptr ? 1.0 : static_cast<double>(in.rows.weights[i]);
      double squares[4] = {};
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const double x = static_cast<double>(rows[r].row[j]);
        squares[j] =
            add_exactly<metric::euclidean>(0, x, in.units.exact[static_cast<std::size_t>(label) * Columns + j]);
        if (in.to.rows) add(label, j, weight * (x - static_cast<double>(in.units.centre[j])));
      }
      add(label, Columns, weight);
      // In the order of a warp's sum.
      const double distance = sqrt((squares[0] + squares[2]) + (squares[1] + squares[3]));
      const double scaled = weight * distance * scale;
      const long long whole = __double2ll_rn(scaled);
      error_whole += whole;
      error_rest += __double2ll_rn((scaled - static_cast<double>(whole)) * in.sums.rest_scale);
    }
  }
  if (in.to.sums == nullptr) return;
  if constexpr (Together) together.finish(in.sums.whole);
  error_whole = cuda::warp_sum(error_whole);
  error_rest = cuda::warp_sum(error_rest);
  if (lane != 0) return;
  if (error_whole != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in.sums.error), error_whole);
  if (error_rest != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in.sums.error + 1), error_rest);
}

template <int Columns = 1>
void launch(const settle_arguments<float>& in, std::size_t multiprocessors, cudaStream_t stream) {
  if constexpr (Columns < most_short_columns) {
    if (in.units.columns > Columns) return launch<Columns + 1>(in, multiprocessors, stream);
  }
  const std::size_t blocks =
      std::min((static_cast<std::size_t>(in.rows.count) + block_rows - 1) / block_rows, 4 * multiprocessors);
  const auto units = static_cast<std::size_t>(in.units.units);
  const std::size_t staged = static_cast<std::size_t>(std::min(in.units.padded, most_staged_units)) *
                             (Columns == 4 ? sizeof(float4) + sizeof(float) : sizeof(float4));
  // A block brings as many sums as there are, so that it should have more rows than units.
  const std::size_t sums = units * (Columns + 1);
  const bool together = in.to.sums != nullptr && sums <= std::size_t{most_shared_sums} &&
                        units * blocks <= static_cast<std::size_t>(in.rows.count);
  const auto start = [&](auto kernel, std::size_t bytes) {
    cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), 32 * warps, bytes, stream, in,
                         static_cast<int>(staged));
  };
  if (together) return start(settle_kernel<Columns, true>, staged + sums * 8);
  start(settle_kernel<Columns, false>, staged);
}

}  // namespace

void settle_short_rows(const searched_rows<float>& rows, const device_units<float>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<float> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  launch(in, multiprocessors, stream);
}

}  // namespace shoal::som
