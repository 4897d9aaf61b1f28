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

// ‖row − point‖², summed in the order of the columns. So much of the row is asked for before the first of it is there.
template <int Ahead = 2, class Scalar, class Work>
__device__ Work squared_distance(const Scalar* row, const Work* point, std::size_t columns) {
  constexpr int together = neighbours<Scalar>::count, of_point = neighbours<Work>::count;
  static_assert(together % of_point == 0);
  Work sum = 0;
  if (columns % together == 0) {
    for (std::size_t first = 0; first < columns; first += Ahead * together) {
      neighbours<Scalar> own[Ahead];
#pragma unroll
      for (int a = 0; a < Ahead; ++a) {
        const std::size_t from = first + a * together;
        if (from < columns) own[a] = *reinterpret_cast<const neighbours<Scalar>*>(row + from);
      }
#pragma unroll
      for (int a = 0; a < Ahead; ++a) {
        const std::size_t from = first + a * together;
        if (from >= columns) break;
#pragma unroll
        for (int part = 0; part < together; part += of_point) {
          const neighbours<Work> other = *reinterpret_cast<const neighbours<Work>*>(point + from + part);
#pragma unroll
          for (int j = 0; j < of_point; ++j) {
            const Work difference = static_cast<Work>(own[a].values[part + j]) - other.values[j];
            sum = fma(difference, difference, sum);
          }
        }
      }
    }
    return sum;
  }
#pragma unroll 4
  for (std::size_t j = 0; j < columns; ++j) {
    const Work difference = static_cast<Work>(row[j]) - point[j];
    sum = fma(difference, difference, sum);
  }
  return sum;
}

}  // namespace shoal
