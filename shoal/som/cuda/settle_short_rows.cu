// settle() for rows of few columns, where a warp for each row would idle: a thread finds the unit of nearly every row,
// and the warp those that are left.
#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/som/cuda/settle_row.cuh>
#include <shoal/som/cuda/settle_short_rows.hpp>

namespace shoal::som {
namespace {

constexpr int column_units = 16;  // of a column of a tile

using warp_task = row_task<float, metric::euclidean, score_kind::products>;

// One row, and what a thread knows of it.
struct short_row {
  const float* row;
  float x[most_short_columns];  // about the centre; zero beyond the last column
  double norm = 0;
  rounded_parts parts;

  __device__ short_row(const settle_arguments<float>& in, int i)
      : row(in.rows.rows + static_cast<std::size_t>(i) * in.units.columns) {
#pragma unroll
    for (int j = 0; j < most_short_columns; ++j) {
      x[j] = j < in.units.columns ? row[j] - in.units.centre[j] : 0.0f;
      norm = add_to_norm<metric::euclidean>(norm, static_cast<double>(x[j]));
      parts.add(x[j]);
    }
    norm = norm_of<metric::euclidean>(norm);
  }
};

// Calls visit(unit, score) for the units of a column of a tile.
template <class Visit>
__device__ void measure_column(const device_units<float>& units, const short_row& of, int first, const Visit& visit) {
#pragma unroll
  for (int u = 0; u < column_units; u += 4) {
    float4 scores = *reinterpret_cast<const float4*>(units.starts + first + u);
#pragma unroll
    for (int j = 0; j < most_short_columns; ++j) {
      if (j >= units.columns) break;
      const float4 c =
          *reinterpret_cast<const float4*>(units.turned + static_cast<std::size_t>(j) * units.padded + first + u);
      scores.x = fmaf(-of.x[j], c.x, scores.x);
      scores.y = fmaf(-of.x[j], c.y, scores.y);
      scores.z = fmaf(-of.x[j], c.z, scores.z);
      scores.w = fmaf(-of.x[j], c.w, scores.w);
    }
    const float all[4] = {scores.x, scores.y, scores.z, scores.w};
#pragma unroll
    for (int v = 0; v < 4; ++v) {
      if (first + u + v < units.units) visit(first + u + v, all[v]);
    }
  }
}

// The row's unit where the search proves which column of a tile it is in; else -1.
__device__ int find_alone(const settle_arguments<float>& in, const short_row& of, int i) {
  const warp_task task{in, of.row, nullptr, 0};
  least_of_parts least;
  for (int part = 0; part < in.rows.parts; ++part) {
    least.take(in.rows.near[static_cast<std::size_t>(i) * in.rows.parts + part]);
  }
  if (in.units.rough()) {
    if (!(least.first < 0x1p125f)) return -1;  // as for a warp
  } else {
    const double gap = 2 * task.error_of_products(of.norm, of.parts);
    if (!(static_cast<double>(least.second) - static_cast<double>(least.first) > gap)) return -1;
  }
  // Of tile_group tiles the first that has this score.
  static_assert(tile_group == 4);
  const int start = least.column / tile_group * tile_group;
  const float4 minima = *reinterpret_cast<const float4*>(
      in.rows.minima + static_cast<std::size_t>(i) * (in.units.padded / unit_tile) + start);
  const int tile = start + (minima.x == least.first   ? 0
                            : minima.y == least.first ? 1
                            : minima.z == least.first ? 2
                            : minima.w == least.first ? 3
                                                      : 0);
  const int first = tile * unit_tile + column_units * (least.column % tile_group);
  least_two<float> near;
  measure_column(in.units, of, first, [&](int place, float score) { near.take(score, place); });
  const float bound = in.units.rough() ? near.first : task.bound_of_candidates(near.first, of.norm);
  if (near.second > bound) return in.units.at_place[near.nearest];
  best_two best;
  measure_column(in.units, of, first, [&](int place, float score) {
    const int unit = in.units.at_place[place];
    if (!(score > bound)) best.take(task.exactly(unit), unit);
  });
  return best.first_unit;
}

__global__ void __launch_bounds__(32 * warps) settle_kernel(settle_arguments<float> in) {
  cuda::wait_for_predecessor();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = in.units.columns;
  const double scale = in.to.sums == nullptr ? 0 : error_scale(in.sums, bound_of(in.units.bounds->norm));
  long long error_whole = 0, error_rest = 0;
  for (int begin = 32 * (static_cast<int>(blockIdx.x) * warps + warp); begin < in.rows.count;
       begin += 32 * warps * static_cast<int>(gridDim.x)) {
    const bool there = begin + lane < in.rows.count;
    const int i = there ? begin + lane : in.rows.count - 1;
    const short_row own(in, i);
    int label = find_alone(in, own, i);
    for (unsigned left = __ballot_sync(all_lanes, label < 0); left != 0; left &= left - 1) {
      const int other = __ffs(left) - 1, number = __shfl_sync(all_lanes, i, other);
      const warp_task task{in, in.rows.rows + static_cast<std::size_t>(number) * columns, nullptr, lane};
      const double norm = __shfl_sync(all_lanes, own.norm, other);
      const int found = task.find<false>(number, norm, false).first_unit;
      if (lane == other) label = found;
    }
    if (!there) continue;
    if (in.to.labels != nullptr) in.to.labels[i] = label;
    if (in.to.sums == nullptr) continue;

    const double weight = in.rows.weights == nullptr ? 1.0 : static_cast<double>(in.rows.weights[i]);
    const std::size_t place = static_cast<std::size_t>(label) * (columns + 1);
    double squares[most_short_columns] = {};
#pragma unroll
    for (int j = 0; j < most_short_columns; ++j) {
      if (j >= columns) break;
      const double x = static_cast<double>(own.row[j]);
      squares[j] = add_exactly<metric::euclidean>(0, x, in.units.exact[static_cast<std::size_t>(label) * columns + j]);
      if (!in.to.rows) continue;
      add_fixed(in.sums.whole + place + j, in.sums.rest + place + j,
                weight * (x - static_cast<double>(in.units.centre[j])), in.sums.scale[j], in.sums.rest_scale);
    }
    add_fixed(in.sums.whole + place + columns, in.sums.rest + place + columns, weight, in.sums.scale[columns],
              in.sums.rest_scale);
    // In the order of a warp's sum.
    const double distance = sqrt((squares[0] + squares[2]) + (squares[1] + squares[3]));
    const double scaled = weight * distance * scale;
    const long long whole = __double2ll_rn(scaled);
    error_whole += whole;
    error_rest += __double2ll_rn((scaled - static_cast<double>(whole)) * in.sums.rest_scale);
  }
  if (in.to.sums == nullptr) return;
  error_whole = cuda::warp_sum(error_whole);
  error_rest = cuda::warp_sum(error_rest);
  if (lane != 0) return;
  if (error_whole != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in.sums.error), error_whole);
  if (error_rest != 0) atomicAdd(reinterpret_cast<unsigned long long*>(in.sums.error + 1), error_rest);
}

}  // namespace

void settle_short_rows(const searched_rows<float>& rows, const device_units<float>& units, const settled_rows& to,
                       std::size_t multiprocessors, cudaStream_t stream) {
  settle_arguments<float> in{rows, units, to, {}, {}};
  if (to.sums != nullptr) in.sums = *to.sums;
  constexpr std::size_t block_rows_here = 32 * warps;
  const std::size_t blocks = (static_cast<std::size_t>(rows.count) + block_rows_here - 1) / block_rows_here;
  cuda::launch_in_turn(settle_kernel, static_cast<unsigned>(std::min(blocks, 16 * multiprocessors)), 32 * warps, 0,
                       stream, in);
}

}  // namespace shoal::som
