// Rows of few columns, where tensor cores would multiply padding and a warp for each row would idle: a thread searches
// all units for its rows, the warp settles what float32 leaves open, and rows are added to the sums at once.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/searched_numbers.cuh>
#include <shoal/som/cuda/settle_row.cuh>
#include <shoal/som/cuda/settle_short_rows.hpp>

namespace shoal::som {
namespace {

// Units whose scores are compared with each other before the least of them is with the others'.
constexpr int column_units = 8;
constexpr int most_shared_sums = 6144;              // of a block, before they go to those of all blocks
constexpr std::size_t most_block_bytes = 99 << 10;  // of shared memory on all GPUs

// Rows of a thread, which share the units that it loads: as many as have registers.
template <int Columns>
inline constexpr int each_rows = Columns <= 8 ? 4 : 2;
template <int Columns>
inline constexpr int block_rows = 32 * warps* each_rows<Columns>;

// What a thread reads of a unit: c′ and the start of its scores, of float64 rows too in float32, and then in a unit in
// which no row is far from 1 (device_units::searched_in).
template <int Columns>
struct alignas(16) short_unit {
  float c[Columns];
  float start;
};
// In shared memory at a time.
constexpr std::size_t staged_bytes = std::size_t{64} << 10;
template <int Columns>
inline constexpr int most_staged_units =
    static_cast<int>(staged_bytes / sizeof(short_unit<Columns>)) / column_units* column_units;

// One row about the centre.
template <class Scalar, int Columns>
struct short_row {
  const Scalar* row;
  float x[Columns];
  float norm = 0;

  __device__ void read(const settle_arguments<Scalar>& in, int i) {
    row = in.rows.rows + static_cast<std::size_t>(i) * Columns;
    norm = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      x[j] = searched_number(in.units, row[j] - in.units.centre[j]);
      norm = fmaf(x[j], x[j], norm);
    }
    norm = sqrtf(norm) * 1.0001f + 0x1p-59f;
  }
  // Of a unit, as the search finds it.
  __device__ float score(const short_unit<Columns>& unit) const {
    float sum = unit.start;
#pragma unroll
    for (int j = 0; j < Columns; ++j) sum = fmaf(-x[j], unit.c[j], sum);
    return sum;
  }
  __device__ double exactly(const device_units<Scalar>& units, int unit) const {
    double sum = 0;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      sum = add_exactly<metric::euclidean>(sum, static_cast<double>(row[j]),
                                           units.exact[static_cast<std::size_t>(unit) * Columns + j]);
    }
    return sum;
  }
};

// Units in shared memory: all of them, or a part at a time.
template <class Scalar, int Columns>
struct staged_units {
  using unit = short_unit<Columns>;
  const device_units<Scalar>& units;
  unit* memory;

  // Places up to the last unit, in whole columns.
  __device__ int places() const { return (units.units + column_units - 1) / column_units * column_units; }
  __device__ bool all_fit() const { return places() <= most_staged_units<Columns>; }

  __device__ unit read_from(int place) const {
    unit one;
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      one.c[j] = searched_number(units, units.turned[static_cast<std::size_t>(j) * units.padded + place]);
    }
    one.start = searched_start(units, place);
    return one;
  }
  // Every thread of a block comes here.
  __device__ void stage(int begin, int count) const {
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += 32 * warps) memory[i] = read_from(begin + i);
    __syncthreads();
  }
  __device__ static void read_word(const float* from, float (&to)[4]) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
  }
  // That at a place of those in shared memory, in whole words.
  __device__ unit read(int i) const {
    constexpr int word = 16 / sizeof(float);
    unit one;
#pragma unroll
    for (int first = 0; first <= Columns; first += word) {
      float some[word];
      read_word(reinterpret_cast<const float*>(memory + i) + first, some);
#pragma unroll
      for (int e = 0; e < word; ++e) {
        if (first + e < Columns) one.c[first + e] = some[e];
        if (first + e == Columns) one.start = some[e];
      }
    }
    return one;
  }
  // That at any place.
  __device__ unit read_any(int place) const { return all_fit() ? read(place) : read_from(place); }
};

// The columns of units with the least scores of a thread's rows: the least, where it is, and that of the next column.
template <class Scalar, int Columns, int Rows>
__device__ void search_columns(const staged_units<Scalar, Columns>& staged,
                               const short_row<Scalar, Columns> (&rows)[Rows], bool again,
                               least_two<float> (&least)[Rows]) {
  constexpr int most = most_staged_units<Columns>;
  const int places = staged.places();
  for (int begin = 0; begin < places; begin += most) {
    const int count = min(most, places - begin);
    if (again || !staged.all_fit()) staged.stage(begin, count);
    for (int first = 0; first < count; first += column_units) {
      float smallest[Rows];
#pragma unroll
      for (int r = 0; r < Rows; ++r) smallest[r] = INFINITY;
#pragma unroll(Columns <= 8 ? column_units : 4)
      for (int u = 0; u < column_units; ++u) {
        const short_unit<Columns> unit = staged.read(first + u);
#pragma unroll
        for (int r = 0; r < Rows; ++r) smallest[r] = fminf(smallest[r], rows[r].score(unit));
      }
#pragma unroll
      for (int r = 0; r < Rows; ++r) least[r].take(smallest[r], begin + first);
    }
  }
}

// The unit of each of a thread's rows; the threads of a warp help each other with those that float32 leaves open.
template <class Scalar, int Columns, int Rows>
__device__ void find_units(const settle_arguments<Scalar>& in, const staged_units<Scalar, Columns>& staged,
                           const short_row<Scalar, Columns> (&rows)[Rows], const least_two<float> (&least)[Rows],
                           int (&labels)[Rows]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto unit_norm = static_cast<float>(bound_of(in.units.bounds->norm) * in.units.searched_in * 1.0001);
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    least_two<float> near;
    // Columns begin in the same banks of shared memory: each lane begins elsewhere. Of equals none is alone.
    for (int u = 0; u < column_units; ++u) {
      const int place = least[r].nearest + (u + lane) % column_units;
      near.take(rows[r].score(staged.read_any(place)), place);
    }
    const float bound = short_bound<Columns>(near.first, rows[r].norm, unit_norm);
    const bool alone = near.second > bound && least[r].second > bound && near.nearest < in.units.units;
    labels[r] = alone ? in.units.at_place[near.nearest] : -1;
    for (unsigned left = __ballot_sync(all_lanes, !alone); left != 0; left &= left - 1) {
      const int other = __ffs(left) - 1;
      const float most = __shfl_sync(all_lanes, bound, other);
      short_row<Scalar, Columns> its;
      its.row = reinterpret_cast<const Scalar*>(
          __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(rows[r].row), other));
#pragma unroll
      for (int j = 0; j < Columns; ++j) its.x[j] = __shfl_sync(all_lanes, rows[r].x[j], other);
      best_two best;
      for (int place = lane; place < in.units.units; place += 32) {
        if (its.score(staged.read_any(place)) > most) continue;
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
template <class Scalar, int Columns, bool Together>
__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<Scalar> in, int sums_at) {
  cuda::wait_for_predecessor();
  extern __shared__ float4 shared[];
  constexpr int each = each_rows<Columns>, rows_here = block_rows<Columns>;
  const staged_units<Scalar, Columns> staged{in.units, reinterpret_cast<short_unit<Columns>*>(shared)};
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
  for (int begin = static_cast<int>(blockIdx.x) * rows_here; begin < in.rows.count;
       begin += static_cast<int>(gridDim.x) * rows_here) {
    short_row<Scalar, Columns> rows[each];
    least_two<float> least[each];
    int labels[each];
    const int first = begin + static_cast<int>(threadIdx.x);
#pragma unroll
    for (int r = 0; r < each; ++r) rows[r].read(in, min(first + r * 32 * warps, in.rows.count - 1));
    search_columns(staged, rows, again, least);
    again = false;
    find_units(in, staged, rows, least, labels);
#pragma unroll
    for (int r = 0; r < each; ++r) {
      const int i = first + r * 32 * warps, label = labels[r];
      if (i >= in.rows.count) continue;
      if (in.to.labels != nullptr) in.to.labels[i] = label;
      if (in.to.sums == nullptr) continue;
      const double weight = in.rows.weights == nullptr ? 1.0 : static_cast<double>(in.rows.weights[i]);
      // In the order of a warp's sum.
      constexpr int lanes = Columns <= 4 ? 4 : Columns <= 8 ? 8 : Columns <= 16 ? 16 : 32;
      double squares[lanes] = {};
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const double x = static_cast<double>(rows[r].row[j]);
        squares[j] =
            add_exactly<metric::euclidean>(0, x, in.units.exact[static_cast<std::size_t>(label) * Columns + j]);
        if (in.to.rows) add(label, j, weight * (x - static_cast<double>(in.units.centre[j])));
      }
      add(label, Columns, weight);
#pragma unroll
      for (int step = lanes / 2; step > 0; step /= 2) {
#pragma unroll
        for (int j = 0; j < step; ++j) squares[j] += squares[j + step];
      }
      const double distance = sqrt(squares[0]);
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

template <class Scalar, int Columns = 1>
void launch(const settle_arguments<Scalar>& in, std::size_t multiprocessors, cudaStream_t stream) {
  if constexpr (Columns < most_columns_beside_few<Scalar>) {
    if (in.units.columns > Columns) return launch<Scalar, Columns + 1>(in, multiprocessors, stream);
  }
  constexpr std::size_t rows_here = block_rows<Columns>;
  const std::size_t blocks =
      std::min((static_cast<std::size_t>(in.rows.count) + rows_here - 1) / rows_here, 4 * multiprocessors);
  const auto units = static_cast<std::size_t>(in.units.units);
  const std::size_t staged =
      static_cast<std::size_t>(
          std::min((in.units.units + column_units - 1) / column_units * column_units, most_staged_units<Columns>)) *
      sizeof(short_unit<Columns>);
  // A block brings as many sums as there are, so that it should have more rows than units.
  const std::size_t sums = units * (Columns + 1);
  const bool together = in.to.sums != nullptr && sums <= std::size_t{most_shared_sums} &&
                        staged + sums * 8 <= most_block_bytes &&
                        units * blocks <= static_cast<std::size_t>(in.rows.count);
  const auto start = [&](auto kernel, std::size_t bytes) {
    cuda::launch_in_turn(kernel, static_cast<unsigned>(blocks), 32 * warps, bytes, stream, in,
                         static_cast<int>(staged));
  };
  if (together) return start(settle_kernel<Scalar, Columns, true>, staged + sums * 8);
  start(settle_kernel<Scalar, Columns, false>, staged);
}

}  // namespace

template <class Scalar>
void settle_short_rows(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<Scalar> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  launch(in, multiprocessors, stream);
}
template void settle_short_rows(const searched_rows<float>&, const device_units<float>&, const settled_rows&,
                                std::size_t, cudaStream_t);
template void settle_short_rows(const searched_rows<double>&, const device_units<double>&, const settled_rows&,
                                std::size_t, cudaStream_t);

}  // namespace shoal::som
