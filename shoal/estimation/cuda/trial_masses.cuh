// Draws among the masses that many rows have with each trial of a step.
#pragma once

#include <cuda_runtime.h>

#include <shoal/estimation/draw_groups.hpp>

namespace shoal {

inline constexpr unsigned most_shares = 16;  // of the rows: blocks of a cluster, or clusters

// Sums of the lanes' masses up to each lane's own; of the first `count` lanes, beyond which all are zero.
__device__ inline double sums_up_to(double mass, unsigned count = 32) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (unsigned step = 1; step < 32; step *= 2) {
    if (step >= count) break;
    const double before = __shfl_up_sync(~0u, mass, step);
    if (lane >= step) mass += before;
  }
  return mass;
}
__device__ inline double sum_before(double up_to) {
  const double before = __shfl_up_sync(~0u, up_to, 1);
  return threadIdx.x % 32 == 0 ? 0.0 : before;
}

// For each trial the masses of 16 shares: some lanes of a warp have those of a trial.
template <unsigned Trials>
class trial_masses {
 public:
  static constexpr unsigned lanes = 32 / Trials, each = most_shares / lanes;

  // read(trial, first, masses) fills in `each` of them.
  template <class Read>
  __device__ trial_masses(unsigned trials, const Read& read) {
#pragma unroll
    for (unsigned i = 0; i < each; ++i) masses_[i] = 0;
    if (trial() < trials) read(trial(), part() * each, masses_);
    double sum = 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      before_[i] = sum;
      sum += masses_[i];
    }
#pragma unroll
    for (unsigned step = 1; step < lanes; step *= 2) {
      const double through = __shfl_up_sync(~0u, sum, step, lanes);
      if (part() >= step) sum += through;
    }
    total_ = __shfl_sync(~0u, sum, lanes - 1, lanes);
    const double through = __shfl_up_sync(~0u, sum, 1, lanes);
#pragma unroll
    for (unsigned i = 0; i < each; ++i) before_[i] += part() == 0 ? 0.0 : through;
  }
  static __device__ unsigned trial() { return threadIdx.x % 32 / lanes; }
  static __device__ unsigned part() { return threadIdx.x % lanes; }
  // Of the lane's own trial.
  __device__ double total() const { return total_; }
  __device__ double total_of(unsigned trial) const { return __shfl_sync(~0u, total_, trial * lanes); }

  // The trial that share_of_better says is best: that of the least sum, unless others come near it.
  __device__ unsigned best(unsigned trials) const {
    const unsigned high = trial() < trials ? static_cast<unsigned>(__double2hiint(total_)) : ~0u;
    const unsigned least = __reduce_min_sync(~0u, high);
    constexpr unsigned infinite = 0x7ff00000;
    if (least < infinite) {
      const unsigned near = __ballot_sync(~0u, high <= least + 1);
      const unsigned first = (__ffs(static_cast<int>(near)) - 1) / lanes;
      if (near >> first * lanes == (1u << lanes) - 1) return first;
    }
    unsigned found = 0;
    double least_total = __builtin_huge_val();
#pragma unroll 1
    for (unsigned t = 0; t < trials; ++t) {
      const double total = total_of(t);
      if (total < least_total * share_of_better) {
        least_total = total;
        found = t;
      }
    }
    return found;
  }

  // Writes down the masses of a trial, and those before each.
  __device__ void write(unsigned trial, double* masses, double* before) const {
    if (this->trial() != trial) return;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      masses[part() * each + i] = masses_[i];
      before[part() * each + i] = before_[i];
    }
  }

  // As draw_lane(), among the masses of a trial.
  __device__ unsigned draw(unsigned trial, double through, double target, double& begins) const {
    int reached = -1, first = -1;
    double reached_at = 0, first_at = 0;
#pragma unroll
    for (unsigned i = 0; i < each; ++i) {
      const double at = through + before_[i];
      if (!(masses_[i] > 0)) continue;
      if (first < 0) {
        first = static_cast<int>(i);
        first_at = at;
      }
      if (at <= target) {
        reached = static_cast<int>(i);
        reached_at = at;
      }
    }
    const bool own = this->trial() == trial;
    const unsigned any = __ballot_sync(~0u, own && first >= 0);
    const unsigned before = __ballot_sync(~0u, own && reached >= 0);
    const int lane = before != 0 ? 31 - __clz(static_cast<int>(before)) : max(0, __ffs(static_cast<int>(any)) - 1);
    begins = __shfl_sync(~0u, before != 0 ? reached_at : first_at, lane);
    const int found = __shfl_sync(~0u, before != 0 ? reached : first, lane);
    return static_cast<unsigned>(lane) % lanes * each + static_cast<unsigned>(max(0, found));
  }

 private:
  double masses_[each], before_[each];
  double total_;
};

}  // namespace shoal
