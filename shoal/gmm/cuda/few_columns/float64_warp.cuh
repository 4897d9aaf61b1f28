// A warp of the kernels for float64 products: its share of some rows' densities, and its components' moments.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/copy_early.cuh>
#include <shoal/gmm/cuda/few_columns/float64_powers.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_flush.cuh>
#include <shoal/gmm/cuda/few_columns/float64_product_shape.cuh>
#include <shoal/gmm/cuda/few_columns/origin_float64.cuh>
#include <shoal/gmm/cuda/few_columns/parts.cuh>

namespace shoal::gmm::few_columns {

/// Which of eight rows is column 2 q + half of a product of densities, whose terms threads 4 g + q get. In this order
/// reads of features for either product are of other banks.
__device__ inline unsigned row_of_term(unsigned q, unsigned half) { return half == 0 ? (q < 2 ? q : q + 4) : q + 2; }

/// Of numbers [Values] of each thread the sums over its eight threads of the same q, of which this thread gets the one
/// that is its own: own_value(g).
template <int Values>
__device__ double own_sum(double (&numbers)[Values]) {
  const unsigned thread = threadIdx.x % 32;
  int left = Values;
#pragma unroll
  for (unsigned step = 4; step < 32; step *= 2) {
    if (left > 1) {
      left /= 2;
      const bool upper = (thread & step) != 0;
#pragma unroll
      for (int i = 0; i < Values / 2; ++i) {
        if (i >= left) break;
        const double keep = upper ? numbers[i + left] : numbers[i];
        const double give = upper ? numbers[i] : numbers[i + left];
        numbers[i] = keep + __shfl_xor_sync(~0U, give, step);
      }
    } else {
      numbers[0] += __shfl_xor_sync(~0U, numbers[0], step);
    }
  }
  return numbers[0];
}
/// Which of the values is that of threads g, and the other way around.
template <int Values>
__device__ constexpr unsigned own_value(unsigned g) {
  unsigned value = 0;
  for (int left = Values; left > 1; left /= 2, g /= 2) value = 2 * value + g % 2;
  return value;
}

template <class Shape>
class float64_warp {
 public:
  __device__ float64_warp(const float64_product_arguments& arguments, double* shared, const float64_places& where)
      : group{threadIdx.x / 32 / arguments.parts, arguments.parts, arguments.cluster},
        a(arguments),
        places(where),
        memory(shared),
        part(threadIdx.x / 32 % a.parts),
        part_of_all(blockIdx.x % a.cluster * a.parts + part),
        table(own_power_table(memory + where.table)),
        partial(memory + where.partial + group.number * (3 * group.all() * Shape::batch)),
        features(memory + where.features + group.number * (buffers() * float64_stage_rows * Shape::stride)),
        fetched(memory + where.fetched + threadIdx.x / 32 * (float64_stage_rows * Shape::fetched_stride)) {
    const auto* const from = reinterpret_cast<const double2*>(memory + places.coefficients) +
                             part * (Shape::tiles * Shape::quads * 32) + thread;
    if constexpr (Shape::holds_coefficients) {
#pragma unroll
      for (int i = 0; i < Shape::tiles * Shape::quads; ++i) held[i] = from[i * 32];
    }
    coefficients = from;
  }

  const float64_group group;
  float64_sums<Shape> sums;
  row_sums head;
  logarithms densities;

  /// Zeros, or what the launch before has left.
  __device__ void begin() {
    for_each_kept([&](double& number, const double& from) { number = a.fresh ? 0 : from; });
    if (a.fresh) densities.product = 1;
    densities.exponent = static_cast<int>(exponents);
  }
  __device__ void leave() {
    exponents = densities.exponent;
    if (!a.whole) for_each_kept([](double number, double& to) { to = number; });
    head.log_likelihood += densities.sum();
  }

  /// Rows of a group.
  __device__ void add(const double* rows, const double* weights, unsigned count) {
    const unsigned step = float64_stage_rows * (Shape::warps / a.parts);
    unsigned first = float64_stage_rows * group.number;
    double x[Shape::columns], weight = 0;
    load(rows, weights, first, count, x, weight);
#pragma unroll 1
    for (; first < count; first += step) {
      double* const stage = features + turn * (float64_stage_rows * Shape::stride);
      const double own_weight = weight;
      write_features(x, weight, stage);
      group.sync();
      load(rows, weights, first + step, count, x, weight);
#pragma unroll 1
      for (unsigned at = 0; at < float64_stage_rows; at += Shape::batch)
        add_batch(stage, at, own_weight, weights == nullptr);
      if (a.parts == 1) __syncwarp();
      turn = a.parts > 1 ? turn ^ 1 : 0;
    }
  }

 private:
  static constexpr int values = Shape::values, row_eights = Shape::row_eights;  // of a batch
  __device__ unsigned buffers() const { return a.parts > 1 ? 2 : 1; }

  template <class Use>
  __device__ void for_each_kept(const Use& use) {
    double* const at =
        a.states + (std::size_t{blockIdx.y} * gridDim.x + blockIdx.x) * (Shape::kept * Shape::threads) + threadIdx.x;
    int next = 0;
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) use(sums[tile][eight][i], at[next++ * Shape::threads]);
      }
    }
    use(head.log_likelihood, at[next++ * Shape::threads]);
    use(head.weight, at[next++ * Shape::threads]);
    use(densities.product, at[next++ * Shape::threads]);
    use(exponents, at[next++ * Shape::threads]);
  }

  __device__ int columns() const { return Shape::matrix ? Shape::columns : static_cast<int>(a.columns); }
  /// The row of number `at` of a stage.
  __device__ unsigned row_of_number(unsigned at) const {
    if constexpr (Shape::matrix) return at / Shape::columns;
    return at * row_factor >> 16;
  }

  /// Rows come to registers where they are short, else to shared memory, as threads load neighbouring numbers.
  __device__ void load(const double* rows, const double* weights, unsigned first, unsigned count,
                       double (&x)[Shape::columns], double& weight) const {
    const unsigned row = first + thread;
    const bool inside = row < count;
    if constexpr (Shape::fetches) {
      const unsigned past = count > first ? (count - first) * columns() : 0;
      const double* const from = rows + std::size_t{first} * columns() + thread;
#pragma unroll
      for (int i = 0; i < Shape::columns; ++i) {
        const unsigned at = 32 * i + thread, of = row_of_number(at), column = at - of * columns();
        if (i < columns() && at < past) cuda::copy_early(fetched + of * Shape::fetched_stride + column, from + 32 * i);
      }
    } else {
#pragma unroll
      for (int i = 0; i < Shape::columns; ++i) {
        x[i] = inside && i < columns() ? __ldg(rows + std::size_t{row} * columns() + i) : 0.0;
      }
    }
    weight = !inside ? 0.0 : weights == nullptr ? 1.0 : __ldg(weights + row);
  }

  /// A row that weighs nothing is at the origin, where it has a density.
  __device__ void write_features(double (&x)[Shape::columns], double weight, double* stage) const {
    if constexpr (Shape::fetches) {
      cuda::wait_for_copies();
      __syncwarp();
#pragma unroll
      for (int i = 0; i < Shape::columns; ++i) x[i] = fetched[thread * Shape::fetched_stride + i];
    }
    double* places_of_four[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) places_of_four[i] = stage + thread * Shape::stride + turned(thread, i);
    const double* const origin = memory + places.origin;
    double z[Shape::columns];
#pragma unroll
    for (int i = 0; i < Shape::columns; ++i) {
      z[i] = weight != 0 && i < columns() ? (x[i] - origin[i]) * origin[16 + i] : 0.0;
    }
    const unsigned mask = a.parts - 1;
    make_float64_features<Shape>(z, [&](int feature, double value) {
      if ((static_cast<unsigned>(feature) & mask) == part) places_of_four[feature % 4][feature / 4 * 4] = value;
    });
  }
  /// Where feature i of four lies in a row of the stage: threads that write the same feature write to other banks.
  __device__ static unsigned turned(unsigned row, unsigned i) { return i ^ (row / 4 % 4); }

  /// log2 of the densities of the batch's rows: [row eight][tile][2 half of components + half of rows].
  __device__ void find_densities(const double* rows, unsigned at, double (&terms)[row_eights][Shape::tiles][4]) const {
#pragma unroll
    for (int tile = 0; tile < Shape::tiles; ++tile) {
      double start[2] = {0, 0};
      if constexpr (Shape::apart) {
        const double* const constants = memory + places.constants + (part * Shape::tiles + tile) * float64_tile;
        start[0] = constants[g];
        start[1] = constants[g + 8];
      }
#pragma unroll
      for (int e = 0; e < row_eights; ++e) {
        terms[e][tile][0] = terms[e][tile][1] = start[0];
        terms[e][tile][2] = terms[e][tile][3] = start[1];
      }
    }
    const unsigned row = row_of_term(g / 2, g % 2);
    const double* own_rows[row_eights];
#pragma unroll
    for (int e = 0; e < row_eights; ++e)
      own_rows[e] = rows + (8 * e + row) * Shape::stride + turned(at + 8 * e + row, q);
#pragma unroll
    for (int s = 0; s < Shape::quads; s += 2) {
      const int next = s + 1 < Shape::quads ? s + 1 : s;
      double factor[row_eights][2];
#pragma unroll
      for (int e = 0; e < row_eights; ++e) {
        factor[e][0] = own_rows[e][4 * s];
        factor[e][1] = own_rows[e][4 * next];
      }
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
        const double2 low = coefficient(tile * Shape::quads + s);
        const double2 high = coefficient(tile * Shape::quads + next);
        const double own[4] = {low.x, low.y, high.x, high.y};
#pragma unroll
        for (int e = 0; e < row_eights; ++e) {
          if (next > s) {
            multiply_add(terms[e][tile], own, factor[e], terms[e][tile]);
          } else {
            multiply_add_half(terms[e][tile], own, factor[e][0], terms[e][tile]);
          }
        }
      }
    }
  }
  __device__ double2 coefficient(int at) const {
    if constexpr (Shape::holds_coefficients) return held[at];
    return coefficients[at * 32];
  }

  /// Turns log-densities less `best` into densities, and finds the sums of this warp's components.
  __device__ double exponentiate(double (&terms)[row_eights][Shape::tiles][4], const double (&best)[values]) const {
    double total[values];
#pragma unroll
    for (int e = 0; e < row_eights; ++e) {
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          terms[e][tile][i] = power_from_table<Shape::table_bits>(terms[e][tile][i] - best[2 * e + i % 2], table);
        }
      }
    }
    return sum_terms(terms, total);
  }
  __device__ double sum_terms(const double (&terms)[row_eights][Shape::tiles][4], double (&total)[values]) const {
#pragma unroll
    for (int e = 0; e < row_eights; ++e) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        double sum = terms[e][0][half] + terms[e][0][2 + half];
#pragma unroll
        for (int tile = 1; tile < Shape::tiles; ++tile) sum += terms[e][tile][half] + terms[e][tile][2 + half];
        total[2 * e + half] = sum;
      }
    }
    return own_sum<values>(total);
  }

  /// The sum over the warps of the group of what each has for its threads' own values; others' are in `place`.
  __device__ double sum_over_group(double own, double* place) const {
    if (group.all() == 1) return own;
    const unsigned at = own_value<values>(g) * 4 + q;
    if (g < values) group.tell(place + part_of_all * Shape::batch + at, own);
    group.sync_all();
    double sum = 0;
#pragma unroll 1
    for (unsigned other = g / values; other < group.all(); other += 8 / values) sum += place[other * Shape::batch + at];
#pragma unroll
    for (unsigned step = 4 * values; step < 32; step *= 2) sum += __shfl_xor_sync(~0U, sum, step);
    return sum;
  }

  __device__ void add_batch(const double* stage, unsigned at, double stage_weight, bool alike) {
    const double* const rows = stage + at * Shape::stride;
    double terms[row_eights][Shape::tiles][4];
    find_densities(rows, at, terms);
#pragma unroll
    for (int e = 0; e < row_eights; ++e) {
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          terms[e][tile][i] = power_from_table<Shape::table_bits>(terms[e][tile][i], table);
        }
      }
    }
    double total[values];
    double sum = sum_over_group(sum_terms(terms, total), partial + exchange * (group.all() * Shape::batch));
    exchange ^= 1;
    const unsigned own = own_value<values>(g);
    const double weight =
        __shfl_sync(~0U, stage_weight, static_cast<int>(at + 8 * (own / 2) + row_of_term(q, own % 2)));
    const bool rare = !is_usual_sum(sum);
    double moved = 0;
    const bool any_rare = __any_sync(~0U, rare);
    if (any_rare) sum = find_again(rows, at, terms, moved);
    if (part_of_all == 0 && g < values) {
      head.weight += weight;
      if (any_rare) {
        head.log_likelihood += weight * (moved + log2(sum));
      } else if (alike) {
        densities.add(weight != 0 ? sum : 1.0);
      } else {
        head.log_likelihood += weight * log2(sum);
      }
    }
    const double scale = weight * reciprocal(sum);
#pragma unroll
    for (int e = 0; e < row_eights; ++e) {
      const double low = __shfl_sync(~0U, scale, static_cast<int>(4 * own_value<values>(2 * e) + q));
      const double high = __shfl_sync(~0U, scale, static_cast<int>(4 * own_value<values>(2 * e + 1) + q));
      const unsigned low_row = 8 * e + row_of_term(q, 0), high_row = 8 * e + row_of_term(q, 1);
      const double* const first = rows + low_row * Shape::stride + turned(at + low_row, g);
      const double* const second = rows + high_row * Shape::stride + turned(at + high_row, g);
      double own_features[Shape::eights][2];
#pragma unroll
      for (int eight = 0; eight < Shape::eights; ++eight) {
        own_features[eight][0] = first[8 * eight] * low;
        own_features[eight][1] = second[8 * eight] * high;
      }
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
        const double shares[4] = {terms[e][tile][0], terms[e][tile][2], terms[e][tile][1], terms[e][tile][3]};
#pragma unroll
        for (int eight = 0; eight < Shape::eights; ++eight) {
          multiply_add(sums[tile][eight], shares, own_features[eight], sums[tile][eight]);
        }
      }
    }
  }

  /// The same relative to each row's greatest log-density, which this thread's own row gets as `moved`.
  __device__ double find_again(const double* rows, unsigned at, double (&terms)[row_eights][Shape::tiles][4],
                               double& moved) const {
    double* const place = partial + 2 * (group.all() * Shape::batch);
    find_densities(rows, at, terms);
    double best[values];
#pragma unroll
    for (int value = 0; value < values; ++value) {
      double most = -INFINITY;
#pragma unroll
      for (int tile = 0; tile < Shape::tiles; ++tile) {
        most = fmax(most, fmax(terms[value / 2][tile][value % 2], terms[value / 2][tile][2 + value % 2]));
      }
#pragma unroll
      for (unsigned step = 4; step < 32; step *= 2) most = fmax(most, __shfl_xor_sync(~0U, most, step));
      best[value] = most;
    }
    if (group.all() > 1) {
      if (g == 0) {
#pragma unroll
        for (int value = 0; value < values; ++value) {
          group.tell(place + part_of_all * Shape::batch + value * 4 + q, best[value]);
        }
      }
      group.sync_all();
#pragma unroll
      for (int value = 0; value < values; ++value) {
#pragma unroll 1
        for (unsigned other = 0; other < group.all(); ++other) {
          best[value] = fmax(best[value], place[other * Shape::batch + value * 4 + q]);
        }
      }
      group.sync_all();
    }
#pragma unroll
    for (int value = 0; value < values; ++value)
      moved = own_value<values>(g) == static_cast<unsigned>(value) ? best[value] : moved;
    const double sum = sum_over_group(exponentiate(terms, best), place);
    group.sync_all();
    return sum;
  }

  const float64_product_arguments& a;
  const float64_places& places;
  double* const memory;
  const unsigned part;         ///< of the block
  const unsigned part_of_all;  ///< of the cluster
  const unsigned table;
  double* const partial;
  double* const features;
  double* const fetched;  ///< [float64_stage_rows][fetched_stride] this warp's next rows
  const double2* coefficients;
  double2 held[Shape::holds_coefficients ? Shape::tiles * Shape::quads : 1];
  double exponents = 0;
  const unsigned row_factor = (65535 + a.columns) / a.columns;
  unsigned turn = 0, exchange = 0;
  const unsigned thread = threadIdx.x % 32, g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
};

}  // namespace shoal::gmm::few_columns
