// The three least scores of a row, and the centroids of the first two.
#pragma once

#include <limits>

namespace shoal::kmeans {

template <class Scalar>
struct least_three {
  Scalar first = std::numeric_limits<Scalar>::max() / 8;
  Scalar second = std::numeric_limits<Scalar>::max() / 8;
  Scalar third = std::numeric_limits<Scalar>::max() / 8;
  int first_cluster = 0;
  int second_cluster = 0;

  __device__ void consider(Scalar score, int cluster) {
    if (!(score < third)) return;
    if (score < second) {
      third = second;
      if (score < first) {
        second = first;
        second_cluster = first_cluster;
        first = score;
        first_cluster = cluster;
      } else {
        second = score;
        second_cluster = cluster;
      }
    } else {
      third = score;
    }
  }

  /// Takes in the scores of the thread `step` lanes away, and that one this thread's.
  __device__ void exchange(int step) {
    const Scalar a = __shfl_xor_sync(~0u, first, step), b = __shfl_xor_sync(~0u, second, step),
                 c = __shfl_xor_sync(~0u, third, step);
    const int a_cluster = __shfl_xor_sync(~0u, first_cluster, step),
              b_cluster = __shfl_xor_sync(~0u, second_cluster, step);
    consider(a, a_cluster);
    consider(b, b_cluster);
    if (c < third) third = c;
  }
};

}  // namespace shoal::kmeans
