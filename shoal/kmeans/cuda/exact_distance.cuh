// The definition of which centroid is nearest (estimation/nearest.hpp), as kernels decide rows by it.
#pragma once

#include <cuda_runtime.h>

namespace shoal::kmeans {

// Nothing is contracted: the sum has the bits of the host's.
__device__ inline double add_square(double sum, double x, double c) {
  const double difference = __dsub_rn(x, c);
  return __dadd_rn(sum, __dmul_rn(difference, difference));
}

template <class Scalar>
__device__ double exact_distance(const Scalar* row, const double* centroid, int columns) {
  double sum = 0;
#pragma unroll 8
  for (int j = 0; j < columns; ++j) sum = add_square(sum, static_cast<double>(row[j]), centroid[j]);
  return sum;
}

struct candidate {
  double distance = static_cast<double>(INFINITY);
  int cluster = 0x7fffffff;
  __device__ void take(double other_distance, int other_cluster) {
    if (other_distance < distance || (other_distance == distance && other_cluster < cluster)) {
      distance = other_distance;
      cluster = other_cluster;
    }
  }
};

}  // namespace shoal::kmeans
