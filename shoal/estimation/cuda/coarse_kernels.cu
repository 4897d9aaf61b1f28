#include <cuda_runtime.h>

#include <shoal/estimation/cuda/coarse_kernels.hpp>
#include <shoal/estimation/cuda/coarse_rows.cuh>
#include <shoal/execution/cuda/check.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {
namespace {

constexpr unsigned threads = block_rows, warps = threads / 32;
static_assert(warps == coarse_unit);

// A warp for each row.
template <class Scalar>
__global__ void __launch_bounds__(threads) coarsen_kernel(const Scalar* rows, coarse_scale scale, coarse_rows coarse) {
  const std::size_t row = std::size_t{blockIdx.x} * warps + threadIdx.x / 32;
  const unsigned lane = threadIdx.x % 32;
  int norm = 0;
  double error = 0;
  for (std::size_t j = lane; j < coarse.pitch; j += 32) {
    int q = 0;
    if (row < coarse.count && j < coarse.columns) {
      const double place = (static_cast<double>(rows[row * coarse.columns + j]) - scale.middle[j]) / scale.unit;
      const double clipped = fmin(fmax(place, -scale.box), scale.box);
      q = __double2int_rn(clipped);
      error += (clipped - q) * (clipped - q);
    }
    norm += q * q;
    coarse.values[row * coarse.pitch + j] = static_cast<std::int8_t>(q);
  }
  norm = cuda::warp_sum(norm);
  error = cuda::warp_sum(error);
  if (lane != 0) return;
  coarse.bounds[row] = {__int_as_float(0x7f800000), norm};
  // With room for the roundings of the places themselves.
  coarse.errors[row] = __double2float_ru(sqrt(error) + 1e-3);
}

template <int step, class Scalar, class Work>
__global__ void __launch_bounds__(threads, 2)
    apply_kernel(const Scalar* rows, coarse_rows coarse, coarse_scale scale, const Work* points,
                 coarse_rows coarse_points, std::int32_t first, const point_range* range, Work* least,
                 std::int32_t* owner) {
  constexpr std::size_t together = 16;
  if (range != nullptr) {
    points += range->first * coarse.columns;
    coarse_points.values += range->first * coarse_points.pitch;
    coarse_points.bounds += range->first;
    coarse_points.errors += range->first;
    coarse_points.count = range->count;
    first = static_cast<std::int32_t>(range->first);
  }
  const unsigned lane = threadIdx.x % 32;
  const std::size_t row = std::size_t{blockIdx.x} * threads + threadIdx.x;
  const bool inside = row < coarse.count;
  const Scalar* const mine = rows + row * coarse.columns;
  const std::int8_t* const of_warp = coarse.values + (row - lane) * coarse.pitch;
  coarse_bound bound = coarse.bounds[row];
  const float error = coarse.errors[row];
  Work best = inside ? least[row] : Work{0};
  if (inside) bound.reach = reach_of(best, error, scale.unit, coarse.columns);
  std::int32_t nearest = -1;
  for (std::size_t from = 0; from < coarse_points.count; from += together) {
    unsigned near = points_within_reach<step, 2>(of_warp, bound, inside, coarse_points, from);
    bool nearer = false;
    for (; near != 0; near &= near - 1) {
      const std::size_t p = from + static_cast<std::size_t>(__ffs(static_cast<int>(near)) - 1);
      if (p >= coarse_points.count) break;
      const Work distance = squared_distance(mine, points + p * coarse.columns, coarse.columns);
      if (!(distance < best)) continue;
      best = distance;
      nearest = first + static_cast<std::int32_t>(p);
      nearer = true;
    }
    if (nearer) bound.reach = reach_of(best, error, scale.unit, coarse.columns);
    __syncwarp();
  }
  if (!inside || nearest < 0) return;
  least[row] = best;
  owner[row] = nearest;
}

}  // namespace

template <class Scalar>
void coarsen(const Scalar* rows, const coarse_scale& scale, const coarse_rows& coarse, std::size_t padded,
             cudaStream_t stream) {
  coarsen_kernel<<<static_cast<unsigned>(padded / warps), threads, 0, stream>>>(rows, scale, coarse);
  cuda::check_launch("coarsen");
}
template void coarsen(const float*, const coarse_scale&, const coarse_rows&, std::size_t, cudaStream_t);
template void coarsen(const double*, const coarse_scale&, const coarse_rows&, std::size_t, cudaStream_t);

template <class Scalar, class Work>
void apply_points_coarsely(const Scalar* rows, const coarse_rows& coarse, const coarse_scale& scale, const Work* points,
                           const coarse_rows& coarse_points, std::int32_t first, const point_range* range, Work* least,
                           std::int32_t* owner, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((coarse.count + threads - 1) / threads);
  const auto kernel = coarse.pitch % 32 != 0 ? apply_kernel<16, Scalar, Work> : apply_kernel<32, Scalar, Work>;
  kernel<<<blocks, threads, 0, stream>>>(rows, coarse, scale, points, coarse_points, first, range, least, owner);
  cuda::check_launch("apply_points_coarsely");
}
template void apply_points_coarsely(const float*, const coarse_rows&, const coarse_scale&, const float*,
                                    const coarse_rows&, std::int32_t, const point_range*, float*, std::int32_t*,
                                    cudaStream_t);
template void apply_points_coarsely(const float*, const coarse_rows&, const coarse_scale&, const double*,
                                    const coarse_rows&, std::int32_t, const point_range*, double*, std::int32_t*,
                                    cudaStream_t);
template void apply_points_coarsely(const double*, const coarse_rows&, const coarse_scale&, const double*,
                                    const coarse_rows&, std::int32_t, const point_range*, double*, std::int32_t*,
                                    cudaStream_t);

}  // namespace shoal
