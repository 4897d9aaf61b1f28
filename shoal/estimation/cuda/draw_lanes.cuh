// Draws among 32 masses, a lane of a warp for each.
#pragma once

#include <cuda_runtime.h>

namespace shoal {

// The sum, in order, of 32 masses, a lane's each, and of those before the lane's own; from `start` on. From lane
// `count` on they are zero.
struct lane_sums {
  double before, all;

  __device__ lane_sums(double mass, double start, unsigned count = 32) : before(start), all(start) {
#pragma unroll
    for (unsigned other = 0; other < 32; ++other) {
      if (other >= count) break;
      if (other == threadIdx.x % 32) before = all;
      all += __shfl_sync(~0u, mass, other);
    }
  }
};

// Where a draw falls among these: the last mass that is positive and begins at most at the target, or the first
// positive one; -1 where there is none. The first one begins at `through`, the lane's own by `own_before` later;
// `before` is where the one that is found begins.
__device__ inline int draw_lane(double mass, double own_before, double through, double target, double& before) {
  const unsigned positive = __ballot_sync(~0u, mass > 0);
  const unsigned reached = __ballot_sync(~0u, mass > 0 && through + own_before <= target);
  if (positive == 0) return -1;
  const int found = reached != 0 ? 31 - __clz(static_cast<int>(reached)) : __ffs(static_cast<int>(positive)) - 1;
  before = through + __shfl_sync(~0u, own_before, found);
  return found;
}

}  // namespace shoal
