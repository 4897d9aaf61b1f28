// How a warp measures its rows against the trials (spread_rows.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/estimation/cuda/array_places.cuh>
#include <shoal/estimation/cuda/said_words.cuh>
#include <shoal/estimation/cuda/spread_rows_kernels.hpp>
#include <shoal/estimation/cuda/squared_distance.cuh>

namespace shoal {

// A thread has some 20 values for each trial of eight.
template <unsigned Trials, unsigned Columns, class Work>
inline constexpr unsigned spread_threads = Trials > 8 || sizeof(Work) > 4 ? 512
                                           : Columns > 8                  ? 768
                                                                          : 1024;

// A row, with zeros beyond its last column; read together where rows are made of whole parts.
template <unsigned Columns, class Scalar>
struct read_row {
  Scalar values[Columns];

  read_row() = default;
  __device__ read_row(const Scalar* row, unsigned columns) {
    constexpr unsigned bytes = Columns * sizeof(Scalar);
    if (bytes % 16 == 0 && columns == Columns) {
      constexpr unsigned together = neighbours<Scalar>::count;
#pragma unroll
      for (unsigned j = 0; j + together <= Columns; j += together) {
        const auto read = *reinterpret_cast<const neighbours<Scalar>*>(row + j);
#pragma unroll
        for (unsigned l = 0; l < together; ++l) values[j + l] = read.values[l];
      }
    } else if (bytes == 8 && columns == Columns) {
      struct alignas(8) pair {
        Scalar values[Columns];
      };
      const pair read = *reinterpret_cast<const pair*>(row);
#pragma unroll
      for (unsigned j = 0; j < Columns; ++j) values[j] = read.values[j];
    } else {
#pragma unroll
      for (unsigned j = 0; j < Columns; ++j) values[j] = j < columns ? row[j] : Scalar{0};
    }
  }
};

template <unsigned Trials, class Work>
struct alignas(16) trial_column {
  Work values[Trials];
};

// The rows of a block.
template <class Scalar, class Work>
struct rows_of_block {
  const few_rows<Scalar, Work>* of;
  std::size_t first;
  unsigned count, lane, first_own, end_own;  // those of a warp: 32 rows each

  // Rows beyond the last are as the last, without weight.
  __device__ std::size_t place(unsigned i) const { return min(first + i, of->count - 1); }
  __device__ const Scalar* row(unsigned i) const { return of->rows + place(i) * of->columns; }
  __device__ bool weighted() const { return of->wide_weights != nullptr || of->weights != nullptr; }
  __device__ double weight(unsigned i) const {
    const std::size_t row = first + i;
    if (row >= of->count) return 0.0;
    if (of->wide_weights != nullptr) return of->wide_weights[row];
    return of->weights == nullptr ? 1.0 : static_cast<double>(of->weights[row]);
  }
};

// Rows of few columns, which pass through registers or, if they are `Held`, one for each thread, stay there.
template <unsigned Trials, unsigned Columns, bool Held, class Scalar, class Work>
struct row_measure {
  static constexpr bool held = Held;
  static constexpr unsigned threads = spread_threads<Trials, Columns, Work>;

  trial_column<Trials, Work>* points;  // [2][Columns] the trials of even and of odd steps
  Work* distances;                     // [Trials][rows] of this step, where a trial is nearer, if rows are held
  Scalar* values;                      // [rows][Columns + 1], if rows are held
  read_row<Columns, Scalar> own;
  double own_weight;

  __host__ __device__ row_measure(array_places& places, const spread_rows_cut& cut) {
    const unsigned count = cut.row_warps * 32;
    points = places.place<trial_column<Trials, Work>>(2 * Columns);
    distances = places.place<Work>(Held ? Trials * count : 0);
    values = places.place<Scalar>(Held ? count * (Columns + 1 + Columns % 2) : 0);
  }

  __device__ void begin(const rows_of_block<Scalar, Work>& rows) {
    if (Held && rows.first_own < rows.end_own) {
      const unsigned i = rows.first_own * 32 + rows.lane;
      own = {rows.row(i), rows.of->columns};
      own_weight = rows.weight(i);
#pragma unroll
      for (unsigned j = 0; j < Columns; ++j) values[i * (Columns + 1) + j] = own.values[j];
    }
    for (unsigned i = threadIdx.x; i < 2 * Columns * Trials; i += threads) {
      const unsigned j = i / Trials;
      const bool first = i % Trials == 0 && j < rows.of->columns;
      points[j].values[i % Trials] =
          first ? static_cast<Work>(rows.of->rows[rows.of->first * rows.of->columns + j]) : Work{0};
    }
  }

  // take(row warp, weight, distances) for all rows of the warp; those of the next 32 are on their way meanwhile.
  template <class Take>
  __device__ void measure(const rows_of_block<Scalar, Work>& rows, unsigned parity, const Take& take) const {
    if (rows.first_own >= rows.end_own) return;
    Work found[Trials];
    if constexpr (Held) {
      to_trials(own, parity, found);
      take(rows.first_own, own_weight, found);
    } else {
      const bool weighted = rows.weighted();
      read_row<Columns, Scalar> coming(rows.row(rows.first_own * 32 + rows.lane), rows.of->columns);
      double weight = weighted ? rows.weight(rows.first_own * 32 + rows.lane) : 1.0;
      for (unsigned row_warp = rows.first_own; row_warp < rows.end_own; ++row_warp) {
        const read_row<Columns, Scalar> row = coming;
        const double of_row = weight;
        if (row_warp + 1 < rows.end_own) {
          coming = {rows.row((row_warp + 1) * 32 + rows.lane), rows.of->columns};
          if (weighted) weight = rows.weight((row_warp + 1) * 32 + rows.lane);
        }
        to_trials(row, parity, found);
        take(row_warp, of_row, found);
      }
    }
  }
  __device__ void keep(unsigned trial, const rows_of_block<Scalar, Work>& rows, unsigned i, Work distance) const {
    if constexpr (Held) distances[trial * rows.count + i] = distance;
  }
  // Of a row that is nearer to that trial than to all points before.
  __device__ Work distance(const rows_of_block<Scalar, Work>& rows, unsigned i, unsigned parity, unsigned trial) const {
    if constexpr (Held) return distances[trial * rows.count + i];
    const read_row<Columns, Scalar> row(rows.row(i), rows.of->columns);
    const auto* const of_step = points + parity * Columns;
    Work sum = 0;
#pragma unroll
    for (unsigned j = 0; j < Columns; ++j) {
      const Work difference = static_cast<Work>(row.values[j]) - of_step[j].values[trial];
      sum = fma(difference, difference, sum);
    }
    return sum;
  }

  // A warp tells a row that it has drawn, all hear it.
  static __device__ unsigned words(unsigned columns) { return 1 + columns; }
  __device__ void tell(const rows_of_block<Scalar, Work>& rows, unsigned i, unsigned long long index,
                       unsigned long long* to) const {
    if (rows.lane < rows.of->columns) {
      const Scalar value = Held ? values[i * (Columns + 1) + rows.lane] : rows.row(i)[rows.lane];
      say(to + 1 + rows.lane, bits_of(static_cast<Work>(value)));
    }
    if (rows.lane == 31) say(to, index);
  }
  __device__ void hear_rows(const rows_of_block<Scalar, Work>& rows, const unsigned long long* said, unsigned parity,
                            unsigned trials, unsigned long long* indices) const {
    const unsigned each = words(rows.of->columns);
    for (unsigned i = threadIdx.x; i < trials * each; i += threads) {
      const unsigned long long word = hear(said + i);
      const unsigned t = i / each, j = i % each;
      if (j == 0) {
        indices[t] = word;
      } else {
        points[parity * Columns + j - 1].values[t] = from_bits<Work>(word);
      }
    }
  }

 private:
  // The distances of a row to the trials, as every kernel of seeding sums them.
  __device__ void to_trials(const read_row<Columns, Scalar>& row, unsigned parity, Work (&found)[Trials]) const {
    const auto* const of_step = points + parity * Columns;
#pragma unroll
    for (unsigned t = 0; t < Trials; ++t) found[t] = 0;
#pragma unroll
    for (unsigned j = 0; j < Columns; ++j) {
      const trial_column<Trials, Work> at = of_step[j];
#pragma unroll
      for (unsigned t = 0; t < Trials; ++t) {
        const Work difference = static_cast<Work>(row.values[j]) - at.values[t];
        found[t] = fma(difference, difference, found[t]);
      }
    }
  }
};

}  // namespace shoal
