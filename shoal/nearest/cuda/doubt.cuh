// A row's label when its scores prove it; a place on a list of doubtful rows when they do not.
#pragma once

#include <cstdint>

#include <shoal/nearest/cuda/doubtful_rows.hpp>

namespace shoal {

/// `gap` is what two scores must differ by at least to be in the right order; not a number or infinite: nothing is
/// proved. `least`: the three least scores and the centroids of the first two.
template <class Least, class Scalar>
__device__ void settle_row(const Least& least, Scalar gap, int row, std::int32_t* labels,
                           const doubtful_rows& doubtful) {
  labels[row] = least.first_cluster;
  if (least.second - least.first > gap) return;
  if (least.third - least.first > gap) {
    doubtful.list[atomicAdd(doubtful.counts, 1u)] = make_int2(row, least.second_cluster);
  } else {
    doubtful.list[doubtful.capacity - 1 - atomicAdd(doubtful.counts + 1, 1u)] = make_int2(row, -1);
  }
}

}  // namespace shoal
