// The distance of one row to one point, as every kernel of seeding sums it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace shoal {

// So many scalars are read at once where rows are made of whole ones.
template <class Scalar>
struct alignas(16) neighbours {
  static constexpr int count = 16 / sizeof(Scalar);
  Scalar values[count];
};

// ‖row − point‖², summed in the order of the columns.
template <class Scalar, class Work>
__device__ Work squared_distance(const Scalar* row, const Work* point, std::size_t columns) {
  constexpr int together = neighbours<Scalar>::count, of_point = neighbours<Work>::count;
  static_assert(together % of_point == 0);
  Work sum = 0;
  if (columns % together == 0) {
#pragma unroll 2
    for (std::size_t from = 0; from < columns; from += together) {
      const neighbours<Scalar> own = *reinterpret_cast<const neighbours<Scalar>*>(row + from);
#pragma unroll
      for (int part = 0; part < together; part += of_point) {
        const neighbours<Work> other = *reinterpret_cast<const neighbours<Work>*>(point + from + part);
#pragma unroll
        for (int j = 0; j < of_point; ++j) {
          const Work difference = static_cast<Work>(own.values[part + j]) - other.values[j];
          sum = fma(difference, difference, sum);
        }
      }
    }
    return sum;
  }
  for (std::size_t j = 0; j < columns; ++j) {
    const Work difference = static_cast<Work>(row[j]) - point[j];
    sum = fma(difference, difference, sum);
  }
  return sum;
}

}  // namespace shoal
