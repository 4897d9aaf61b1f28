// The distances of a lane's row to several points at once, as far as they matter.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace shoal {

// A row in shared memory, whose columns are `stride` apart.
template <class Scalar>
struct held_row {
  const Scalar* values;
  unsigned stride, columns;
};

// From which sum of squares in float32 on a distance is at least `least`: float32 rounds each difference, square and
// sum, and may neither overflow nor nearly underflow.
__device__ inline float rough_bound(double least, unsigned columns) {
  const float error = static_cast<float>(columns + 8) * 0x1p-22f;
  return fmaxf(__double2float_ru(least) * (1 + error), 1e-30f);
}

// The distances of the lanes' rows to some trials.
template <unsigned together, class Work>
struct nearer_rows {
  Work distances[together];
  unsigned nearer[together];  // a bit for each lane

  __device__ bool any_nearer() const {
    unsigned any = 0;
#pragma unroll
    for (unsigned t = 0; t < together; ++t) any |= nearer[t];
    return any != 0;
  }
  __device__ bool is_nearer(unsigned t) const { return nearer[t] >> threadIdx.x % 32 & 1; }
};

// As they are known of all pairs: pairs[index · count + row].
template <unsigned together, class Work>
struct known_distances : nearer_rows<together, Work> {
  __device__ known_distances(const Work* pairs, std::size_t count, std::size_t row, const unsigned long long* indices,
                             unsigned trials, Work least) {
#pragma unroll
    for (unsigned t = 0; t < together; ++t) {
      this->distances[t] = t < trials ? pairs[indices[t] * count + row] : static_cast<Work>(__builtin_huge_val());
    }
#pragma unroll
    for (unsigned t = 0; t < together; ++t) this->nearer[t] = __ballot_sync(~0u, this->distances[t] < least);
  }
};

// As far as they are below `least`, of a lane's row to some trials. Where rows are narrower than
// distances, sums in float32 rule out most; `bound` is least's rough_bound().
template <unsigned together, class Scalar, class Work>
struct distances_of : nearer_rows<together, Work> {
  static constexpr bool roughly = sizeof(Work) > sizeof(Scalar);

  template <class Column>
  __device__ distances_of(const held_row<Scalar>& row, const Column* points, unsigned first, Work least, float bound) {
    bool near[together];
#pragma unroll
    for (unsigned t = 0; t < together; ++t) {
      near[t] = true;
      this->distances[t] = 0;
    }
    bool any = true;
    if constexpr (roughly) {
      float rough[together] = {};
      add_squares(rough, row, points, first);
      any = false;
#pragma unroll
      for (unsigned t = 0; t < together; ++t) {
        near[t] = !(rough[t] >= bound && rough[t] < 1e38f);
        any = any || near[t];
      }
      any = __any_sync(~0u, any);
    }
    if (any) add_squares(this->distances, row, points, first);
#pragma unroll
    for (unsigned t = 0; t < together; ++t) {
      this->nearer[t] = any ? __ballot_sync(~0u, near[t] && this->distances[t] < least) : 0;
    }
  }

 private:
  template <class Sum, class Column>
  static __device__ void add_squares(Sum (&sums)[together], const held_row<Scalar>& row, const Column* points,
                                     unsigned first) {
#pragma unroll 4
    for (unsigned j = 0; j < row.columns; ++j) {
      const Sum own = static_cast<Sum>(row.values[j * row.stride]);
      Sum at[together];
#pragma unroll
      for (unsigned t = 0; t < together; ++t) at[t] = static_cast<Sum>(points[j].values[first + t]);
#pragma unroll
      for (unsigned t = 0; t < together; ++t) {
        const Sum difference = own - at[t];
        sums[t] = fma(difference, difference, sums[t]);
      }
    }
  }
};

}  // namespace shoal
