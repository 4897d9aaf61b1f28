// The least two of the distances that a thread meets.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace shoal {

/// The least distance with whom it is to, and the next. Of equals the first that came.
template <class Scalar>
struct least_two {
  Scalar first = static_cast<Scalar>(INFINITY), second = static_cast<Scalar>(INFINITY);
  int nearest = 0;
  __device__ void take(Scalar distance, int k) {
    second = distance < first ? first : distance < second ? distance : second;
    nearest = distance < first ? k : nearest;
    first = distance < first ? distance : first;
  }
};

}  // namespace shoal
