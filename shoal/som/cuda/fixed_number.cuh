// Values in the whole numbers that sums are of: nothing depends on the order of their terms (fixed_sums).
#pragma once

#include <cuda_runtime.h>

namespace shoal::som {

struct fixed_number {
  long long whole;
  double left, rest_scale;  // what rounding left of it, and what that is counted in

  __device__ fixed_number(double value, double scale, double rest) : rest_scale(rest) {
    const double scaled = value * scale;
    whole = __double2ll_rn(scaled);
    left = scaled - static_cast<double>(whole);
  }
  __device__ void add_whole(long long* to) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(whole));
  }
  __device__ void add_rest(long long* to) const {
    if (left == 0) return;
    const long long less = __double2ll_rn(left * rest_scale);
    if (less != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(less));
  }
};

__device__ inline void add_fixed(long long* whole, long long* rest, double value, double scale, double rest_scale) {
  const fixed_number fixed(value, scale, rest_scale);
  fixed.add_whole(whole);
  fixed.add_rest(rest);
}

}  // namespace shoal::som
