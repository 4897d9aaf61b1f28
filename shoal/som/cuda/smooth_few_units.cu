// Smoothing of a small map and the move of its units in one launch, for a gaussian on a rectangular lattice: between
// kernels of smooth.cu more time passes than in them. The sums are the same, in the same order.
#include <cuda_runtime.h>

#include <shoal/execution/cuda/launch.cuh>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {
namespace {

constexpr int places = 32;  // of a block: columns, and Σ w in the last one
constexpr int groups = 8;   // of targets
constexpr int most_units =
    33;  // of 64 it takes longer than smooth.cu: 0.042 instead of 0.040 ms of an epoch of 10,000 rows

__global__ void __launch_bounds__(places* groups) smooth_few_kernel(smoothing in) {
  cuda::wait_for_predecessor();
  __shared__ double sources[most_units][places], along[most_units][places];
  __shared__ double along_rows[2 * most_units], across_rows[2 * most_units];  // h of a difference, target − source
  const int width = static_cast<int>(in.shape.width), height = static_cast<int>(in.shape.height),
            units = width * height;
  const std::size_t columns = in.columns;
  const int place = threadIdx.x % places, group = static_cast<int>(threadIdx.x) / places;
  const bool weights = place == places - 1;
  const std::size_t column = weights ? columns : std::size_t{blockIdx.x} * (places - 1) + place;
  const bool there = weights || column < columns;
  const neighborhood_function h{in.kind, in.radii[*in.epoch], in.cutoff};
  for (int i = threadIdx.x; i < 2 * (width + height) - 2; i += places * groups) {
    const bool is_along = i < 2 * width - 1;
    const int difference = is_along ? i - width + 1 : i - (2 * width - 1) - height + 1;
    const auto ahead = static_cast<std::uint32_t>(max(difference, 0)),
               behind = static_cast<std::uint32_t>(max(-difference, 0));
    if (is_along) {
      const std::uint32_t apart = column_offset(in.shape, ahead, false, behind, false);
      along_rows[i] = h.factor(0, false, squared_column_distance(in.shape, {0u, apart}));
    } else {
      const std::uint32_t apart = row_offset(in.shape, max(ahead, behind), 0);
      across_rows[i - (2 * width - 1)] = h.factor(0, true, squared_row_distance(in.shape, {apart, 0}));
    }
  }
  for (int u = group; u < units; u += groups) {
    sources[u][place] = there ? in.statistics[static_cast<std::size_t>(u) * (columns + 1) + column] : 0.0;
  }
  __syncthreads();
  for (int u = group; u < units; u += groups) {
    const int row = u / width, target = u - row * width;
    double sum = 0;
    for (int k = 0; k < width; ++k) sum = fma(along_rows[target - k + width - 1], sources[row * width + k][place], sum);
    along[u][place] = sum;
  }
  __syncthreads();
  for (int u = group; u < units; u += groups) {
    const int target = u / width, across = u - target * width;
    double sum = 0;
    for (int k = 0; k < height; ++k)
      sum = fma(across_rows[target - k + height - 1], along[k * width + across][place], sum);
    sources[u][place] = sum;
  }
  __syncthreads();
  for (int u = group; u < units && there && !weights; u += groups) {
    const double weight = sources[u][places - 1];
    if (!(weight >= least_pull)) continue;
    double& own = in.codebook[static_cast<std::size_t>(u) * columns + column];
    const double moved = in.centre[column] + sources[u][place] / weight;
    own = in.rate == 1 ? moved : own + in.rate * (moved - own);
  }
  // All blocks have asked for the epoch's radius when the last one comes here.
  if (threadIdx.x == 0 && atomicInc(in.done, gridDim.x - 1) == gridDim.x - 1) {
    in.history[*in.epoch] = in.statistics[static_cast<std::size_t>(units) * (columns + 1)];
    ++*in.epoch;
  }
}

}  // namespace

bool are_few_to_smooth(const smoothing& all) {
  return all.products() == 1 && !all.hexagonal() && all.shape.units() <= most_units;
}

void smooth_few_units(const smoothing& all, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((all.columns + places - 2) / (places - 1));
  cuda::launch_in_turn(smooth_few_kernel, blocks, places * groups, 0, stream, all);
}

}  // namespace shoal::som
