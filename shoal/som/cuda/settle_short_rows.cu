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
  // The score of the unit at a place, as the search finds it.
  __device__ float score(const device_units<float>& units, int place) const {
    float sum = units.starts[place];
#pragma unroll
    for (int j = 0; j < Columns; ++j) {
      sum = fmaf(-x[j], units.turned[static_cast<std::size_t>(j) * units.padded + place], sum);
    }
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

// The columns of units with the least scores of a thread's rows: the least, where it is, and that of the next column.
template <int Columns>
__device__ void search_columns(const device_units<float>& units, const short_row<Columns> (&rows)[each], float4* staged,
                               bool again, least_two<float> (&least)[each]) {
  for (int begin = 0; begin < units.padded; begin += most_staged_units) {
    const int count = min(most_staged_units, units.padded - begin);
    if (again || units.padded > most_staged_units) {
      __syncthreads();
      for (int i = static_cast<int>(threadIdx.x); i < count; i += 32 * warps) {
        float c[4] = {};
#pragma unroll
        for (int j = 0; j < Columns; ++j) c[j] = units.turned[static_cast<std::size_t>(j) * units.padded + begin + i];
        if constexpr (Columns < 4) c[3] = units.starts[begin + i];
        staged[i] = make_float4(c[0], c[1], c[2], c[3]);
        if constexpr (Columns == 4) reinterpret_cast<float*>(staged + most_staged_units)[i] = units.starts[begin + i];
      }
      __syncthreads();
    }
    for (int first = 0; first < count; first += column_units) {
      float smallest[each];
#pragma unroll
      for (int r = 0; r < each; ++r) smallest[r] = INFINITY;
#pragma unroll
      for (int u = 0; u < column_units; ++u) {
        const float4 four = staged[first + u];
        const float c[4] = {four.x, four.y, four.z, four.w};
        float start = four.w;
        if constexpr (Columns == 4) start = reinterpret_cast<const float*>(staged + most_staged_units)[first + u];
#pragma unroll
        for (int r = 0; r < each; ++r) {
          float score = start;
#pragma unroll
          for (int j = 0; j < Columns; ++j) score = fmaf(-rows[r].x[j], c[j], score);
          smallest[r] = fminf(smallest[r], score);
        }
      }
#pragma unroll
      for (int r = 0; r < each; ++r) least[r].take(smallest[r], begin + first);
    }
  }
}

// The unit of each of a thread's rows; the threads of a warp help each other with those that float32 leaves open.
template <int Columns>
__device__ void find_units(const settle_arguments<float>& in, const short_row<Columns> (&rows)[each],
                           const least_two<float> (&least)[each], int (&labels)[each]) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const double unit_norm = bound_of(in.units.bounds->norm);
#pragma unroll
  for (int r = 0; r < each; ++r) {
    least_two<float> near;
    for (int u = 0; u < column_units; ++u)
      near.take(rows[r].score(in.units, least[r].nearest + u), least[r].nearest + u);
    const float bound = score_bound<metric::euclidean>(near.first, rows[r].norm, unit_norm, Columns, Columns);
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
        if (its.score(in.units, place) > most) continue;
        const int unit = in.units.at_place[place];
        best.take(its.exactly(in.units, unit), unit);
      }
      for (int step = 16; step > 0; step /= 2) best.join(step);
      if (lane == other) labels[r] = best.first_unit;
    }
  }
}

template <int Columns>
__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<float> in) {
  cuda::wait_for_predecessor();
  extern __shared__ float4 staged[];
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
    search_columns<Columns>(in.units, rows, staged, again, least);
    again = false;
    find_units<Columns>(in, rows, least, labels);
#pragma unroll
    for (int r = 0; r < each; ++r) {
      const int i = first + r * 32 * warps, label = labels[r];
      if (i >= in.rows.count) continue;
      if (in.to.labels != nullptr) in.to.labels[i] = label;
      if (in.to.sums == nullptr) continue;
      const double weight = in.rows.weights == nullptr ? 1.0 : static_cast<double>(in.rows.weights[i]);
      const std::size_t place = static_cast<std::size_t>(label) * (Columns + 1);
      double squares[4] = {};
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const double x = static_cast<double>(rows[r].row[j]);
        squares[j] =
            add_exactly<metric::euclidean>(0, x, in.units.exact[static_cast<std::size_t>(label) * Columns + j]);
        if (!in.to.rows) continue;
        add_fixed(in.sums.whole + place + j, in.sums.rest + place + j,
                  weight * (x - static_cast<double>(in.units.centre[j])), in.sums.scale[j], in.sums.rest_scale);
      }
      add_fixed(in.sums.whole + place + Columns, in.sums.rest + place + Columns, weight, in.sums.scale[Columns],
                in.sums.rest_scale);
      // In the order of a warp's sum.
      const double distance = sqrt((squares[0] + squares[2]) + (squares[1] + squares[3]));
      const double scaled = weight * distance * scale;
      const long long whole = __double2ll_rn(scaled);
      error_whole += whole;
      error_rest += __double2ll_rn((scaled - static_cast<double>(whole)) * in.sums.rest_scale);
    }
  }
  if (in.to.sums == nullptr) return;
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
  const std::size_t blocks = (static_cast<std::size_t>(in.rows.count) + block_rows - 1) / block_rows;
  const std::size_t bytes =
      Columns == 4 ? most_staged_units * 20 : std::min(in.units.padded, most_staged_units) * sizeof(float4);
  cuda::launch_in_turn(settle_kernel<Columns>, static_cast<unsigned>(std::min(blocks, 4 * multiprocessors)), 32 * warps,
                       bytes, stream, in);
}

}  // namespace

void settle_short_rows(const searched_rows<float>& rows, const device_units<float>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<float> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  launch(in, multiprocessors, stream);
}

}  // namespace shoal::som
