#include <shoal/estimation/cuda/ahead_measures.hpp>

#include <cuda_runtime.h>

#include <algorithm>

#include <shoal/estimation/cuda/coarse_rows.cuh>
#include <shoal/estimation/cuda/squared_distance.cuh>
#include <shoal/execution/cuda/launch.cuh>

namespace shoal {
namespace {

constexpr unsigned threads = ahead_tile, warps = threads / 32;
constexpr unsigned points_together = 32;  // a bit of a word for each

enum class ahead_filter { columns, narrow_bytes, bytes };

// Points, a bit each, that may be nearer to a lane's row than all before.
template <ahead_filter Filter, class Scalar, class Work>
struct row_filter;

template <class Scalar, class Work>
struct row_filter<ahead_filter::columns, Scalar, Work> {
  static constexpr unsigned most = least_coarse_ahead_columns - 1;
  Work values[most];
  Work least;
  unsigned columns;

  __device__ row_filter(const ahead_rows<Scalar, Work>& of, std::size_t row, Work at_least)
      : least(at_least), columns(of.columns) {
    const Scalar* const mine = of.rows + min(row, of.count - 1) * of.columns;
#pragma unroll
    for (unsigned j = 0; j < most; ++j) values[j] = j < columns ? static_cast<Work>(mine[j]) : Work{0};
  }
  __device__ unsigned near(const ahead_rows<Scalar, Work>& of, unsigned first_point) const {
    unsigned found = 0;
#pragma unroll 4
    for (unsigned p = 0; p < points_together; ++p) {
      const Work* const point = of.points + (first_point + p) * columns;
      Work sum = 0;
#pragma unroll
      for (unsigned j = 0; j < most; ++j) {
        if (j >= columns) break;
        const Work difference = values[j] - point[j];
        sum = fma(difference, difference, sum);
      }
      if (sum < least) found |= 1u << p;
    }
    return found;
  }
};

template <int step, class Scalar, class Work>
struct coarse_filter {
  const std::int8_t* of_warp;
  coarse_bound bound;
  bool inside;

  __device__ coarse_filter(const ahead_rows<Scalar, Work>& of, std::size_t row, Work least)
      : of_warp(of.coarse.values + (row - threadIdx.x % 32) * of.coarse.pitch),
        bound(of.coarse.bounds[row]),
        inside(row < of.count) {
    bound.reach = reach_of(least, of.coarse.errors[row], of.scale.unit, of.columns);
  }
  __device__ unsigned near(const ahead_rows<Scalar, Work>& of, unsigned first_point) const {
    // Products of all of them at once would need more registers than a thread has.
    constexpr unsigned some = points_together / 2;
    return points_within_reach<step, some / 8>(of_warp, bound, inside, of.coarse_points, first_point) |
           points_within_reach<step, some / 8>(of_warp, bound, inside, of.coarse_points, first_point + some) << some;
  }
};
template <class Scalar, class Work>
struct row_filter<ahead_filter::narrow_bytes, Scalar, Work> : coarse_filter<16, Scalar, Work> {
  using coarse_filter<16, Scalar, Work>::coarse_filter;
};
template <class Scalar, class Work>
struct row_filter<ahead_filter::bytes, Scalar, Work> : coarse_filter<32, Scalar, Work> {
  using coarse_filter<32, Scalar, Work>::coarse_filter;
};

// A warp has 32 rows and some of the drawn ones. Pairs that the filter leaves wait until there is one for each lane.
template <ahead_filter Filter, class Scalar, class Work>
__global__ void __launch_bounds__(threads, 2)
    measure_kernel(const __grid_constant__ ahead_rows<Scalar, Work> of, unsigned parts) {
  constexpr unsigned most_waiting = 32 * points_together + 32;
  __shared__ unsigned short waiting[warps][most_waiting];  // a drawn row's number times 32, and the lane of the row
  cuda::wait_for_predecessor();
  if (of.state->ended != 0 || of.state->exhausted == 0) return;
  if (blockIdx.y == parts) {  // drawn rows against each other
    for (unsigned i = blockIdx.x * threads + threadIdx.x; i < of.drawn * of.drawn; i += gridDim.x * threads) {
      of.pairs[i] = squared_distance<2>(of.points + std::size_t{i % of.drawn} * of.columns,
                                        of.points + std::size_t{i / of.drawn} * of.columns, of.columns);
    }
    return;
  }
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x, first_row = row - lane;
  const unsigned share = static_cast<unsigned>(first_row / of.share_rows);
  const unsigned in_share = static_cast<unsigned>(first_row - std::size_t{share} * of.share_rows);
  const Work least = row < of.count ? of.least[row] : Work{0};
  const row_filter<Filter, Scalar, Work> filter(of, row, least);
  unsigned short* const queue = waiting[threadIdx.x / 32];
  unsigned count = 0;
  const auto measure = [&](unsigned from, unsigned some) {
    const unsigned pair = queue[from + min(lane, some - 1)], drawn = pair / 32, of_lane = pair % 32;
    const Work before = __shfl_sync(~0u, least, static_cast<int>(of_lane));
    const Work distance =
        squared_distance<2>(of.rows + (first_row + of_lane) * of.columns,
                            static_cast<const Work*>(of.points + std::size_t{drawn} * of.columns), of.columns);
    if (lane >= some || !(distance < before)) return;
    const unsigned list = drawn * of.shares + share, place = atomicAdd(of.hit_counts + list, 1u);
    if (place < of.capacity) of.hits[std::size_t{list} * of.capacity + place] = {in_share + of_lane, distance};
  };
  const unsigned groups = of.drawn / points_together, begin = blockIdx.y * groups / parts,
                 end = (blockIdx.y + 1) * groups / parts;
  for (unsigned group = begin; group < end; ++group) {
    const unsigned first = group * points_together;
    unsigned near = filter.near(of, first);
    if (!__any_sync(~0u, near != 0)) continue;
    unsigned place = __popc(near);
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned before = __shfl_up_sync(~0u, place, step);
      if (lane >= step) place += before;
    }
    const unsigned more = __shfl_sync(~0u, place, 31);
    place += count - __popc(near);
    for (; near != 0; near &= near - 1) {
      queue[place++] = static_cast<unsigned short>((first + __ffs(static_cast<int>(near)) - 1) * 32 + lane);
    }
    count += more;
    __syncwarp();
    while (count >= 32) {
      count -= 32;
      measure(count, 32);
    }
    __syncwarp();
  }
  if (count > 0) measure(0, count);
}

}  // namespace

template <class Scalar, class Work>
void measure_ahead(const ahead_rows<Scalar, Work>& of, std::size_t multiprocessors, cudaStream_t stream) {
  // Of few rows several blocks share the drawn ones.
  constexpr std::size_t blocks_of_multiprocessor = 4;
  const auto parts = static_cast<unsigned>(
      std::clamp<std::size_t>(blocks_of_multiprocessor * multiprocessors / of.tiles, 1, of.drawn / points_together));
  const auto launch = [&](auto kernel) {
    cuda::launch_in_turn(kernel, dim3(of.tiles, parts + 1), threads, 0, stream, of, parts);
  };
  if (of.coarse.values == nullptr) return launch(measure_kernel<ahead_filter::columns, Scalar, Work>);
  if (of.coarse.pitch % 32 != 0) return launch(measure_kernel<ahead_filter::narrow_bytes, Scalar, Work>);
  launch(measure_kernel<ahead_filter::bytes, Scalar, Work>);
}

template void measure_ahead(const ahead_rows<float, float>&, std::size_t, cudaStream_t);
template void measure_ahead(const ahead_rows<float, double>&, std::size_t, cudaStream_t);
template void measure_ahead(const ahead_rows<double, double>&, std::size_t, cudaStream_t);

}  // namespace shoal
