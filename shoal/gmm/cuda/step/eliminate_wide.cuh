// The elimination of eliminate.cuh by a block, for matrices of more columns: panels of 16, and one warp that finishes
// the next panel's corner in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>
#include <shoal/gmm/cuda/tensor_float64/products.cuh>

namespace shoal::gmm {

// Columns that a block eliminates at once: each panel's corner by one warp, which is at work on the next corner while
// the others take the panel out of the rows below.
inline constexpr unsigned wide_panel = 16;

// What a block needs beside the matrix.
struct panel_memory {
  double rows[2][2 * wide_panel];             // a pivot's row of the corner; the last half is nobody's
  double inside[wide_panel][wide_panel + 1];  // the corner's rows of L̃⁻¹, with its unit diagonal; odd, for the banks
  double pivots[wide_panel];
  double inverses[wide_panel];  // of pivots
  double good;                  // 1 when pivots are positive and finite
};
static_assert(sizeof(panel_memory) <= wide_panel_work * sizeof(double));

// 1 / pivot to the last digit or the one before it. A division's instructions are most of what pivots wait for.
__device__ inline double reciprocal_of_pivot(double pivot) {
  double found;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(found) : "d"(pivot));  // to 20 bits
  const double rest = fma(-pivot, found, 1.0);
  found = fma(found, fma(rest, rest, rest), found);
  return pivot > 0x1p-1000 && pivot < 0x1p1000 ? found : 1 / pivot;
}

// Eliminates the corner at j from itself and from the unit matrix beside it. A lane has a column: sixteen those of the
// corner, the others those of L̃⁻¹. The rows that are left move up in a lane's registers at each pivot, so that the
// loop's instructions are few and stay near; unrolled, pivots waited for instructions. A pivot's row reaches all lanes
// through memory while its reciprocal is found.
__device__ inline void eliminate_corner(const cuda::warp_group& warp, const double* matrix, unsigned columns,
                                        unsigned j, panel_memory& to) {
  const unsigned stride = matrix_stride(columns), count = min(wide_panel, columns - j);
  const unsigned column = warp.rank % wide_panel;
  const bool corner = warp.rank < wide_panel;
  const double* const own = matrix + std::size_t{j} * stride + j + column;
  double left[wide_panel];  // of the lane's column, from the pivot's row on
#pragma unroll
  for (unsigned s = 0; s < wide_panel; ++s) {
    left[s] = corner && s <= column && column < count ? own[s * stride] : 0;
    if (!corner && s == column) left[s] = 1;
  }
  for (auto& row : to.rows) row[warp.rank] = 0;
  warp.sync();
  bool good = true;
#pragma unroll 1
  for (unsigned t = 0; t < count; ++t) {
    double* const row = to.rows[t % 2];
    const double value = corner && column < t ? 0 : left[0];
    const double pivot = __shfl_sync(cuda::every_lane, left[0], t);
    if (corner) {
      row[column] = value;
    } else {
      to.inside[t][column] = value;
    }
    warp.sync();
    good = good && pivot > 0 && !isinf(pivot);
    const double inverse = reciprocal_of_pivot(pivot);
    const double share = value * inverse;
#pragma unroll
    for (unsigned s = 0; s + 1 < wide_panel; ++s) left[s] = fma(-row[t + 1 + s], share, left[s + 1]);
    if (warp.rank == t) {
      to.pivots[t] = pivot;
      to.inverses[t] = inverse;
    }
  }
  if (warp.rank == 0) to.good = good ? 1 : 0;
}

// Which of a warp's tiles of 16 × 8 elements a lane has, and what it multiplies: multiply_add() in products.cuh. Sums
// go over four neighbours for each lane, so that rows an odd number of elements apart are read from all banks.
struct tile_lane {
  unsigned group, place;

  __device__ explicit tile_lane(const cuda::warp_group& warp) : group(warp.rank / 4), place(warp.rank % 4) {}
  __device__ unsigned row(unsigned e) const { return group + 8 * (e / 2); }
  __device__ unsigned column(unsigned e) const { return 2 * place + e % 2; }
  __device__ unsigned left_row(unsigned i) const { return group + 8 * (i % 2); }
  __device__ unsigned left_term(unsigned half, unsigned i) const { return 4 * place + 2 * half + i / 2; }
  __device__ unsigned right_term(unsigned half, unsigned i) const { return 4 * place + 2 * half + i; }
};

// Eliminates the corner at j from its rows, which L̃⁻¹ of the corner does, a warp for eight of their columns. The
// multiples of the panel's rows that will be taken from a row below lie in that row, in the panel's columns, where
// nothing is needed yet.
__device__ inline void finish_panel(const cuda::block_group& block, double* matrix, unsigned columns, unsigned j,
                                    const panel_memory& memory) {
  constexpr unsigned width = 8;
  const cuda::warp_group warp;
  const tile_lane lane(warp);
  const unsigned stride = matrix_stride(columns), count = min(wide_panel, columns - j);
  for (unsigned first = block.rank / cuda::warp_size * width; first <= columns;
       first += block.size / cuda::warp_size * width) {
    double* const rows = matrix + std::size_t{j} * stride + first;
    double values[4] = {};
    const bool corner = first >= j && first + width <= j + count;  // all of the tile
#pragma unroll
    for (unsigned half = 0; half < 2 && !corner; ++half) {
      double left[4], right[2];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) left[i] = memory.inside[lane.left_row(i)][lane.left_term(half, i)];
#pragma unroll
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned s = lane.right_term(half, i);
        right[i] = s < count && first + lane.group <= columns ? rows[s * stride + lane.group] : 0;
      }
      tensor_float64::multiply_add(values, left, right);
    }
    warp.sync();  // all have read
#pragma unroll
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned s = lane.row(e), column = first + lane.column(e);
      if (s >= count || column > columns) continue;
      double value = values[e];
      // Where the unit diagonal of L̃⁻¹ would be, the matrix keeps D.
      if (column >= j && column < j + count) value = column == j + s ? memory.pivots[s] : memory.inside[s][column - j];
      rows[s * stride + lane.column(e)] = value;
      if (column >= j + wide_panel && column < columns) {
        matrix[std::size_t{column} * stride + j + s] = value * memory.inverses[s];
      }
    }
  }
}

// A square of the rows below a panel, from which a warp takes the panel out, in two tiles.
struct square_below {
  static constexpr unsigned tiles = 2;

  tile_lane lane;
  double* matrix;
  unsigned order;
  unsigned stride;
  unsigned first_row;
  unsigned first_column;
  double values[tiles][4];

  __device__ square_below(const cuda::warp_group& warp, double* matrix, unsigned columns, unsigned down, unsigned right)
      : lane(warp),
        matrix(matrix),
        order(columns),
        stride(matrix_stride(columns)),
        first_row(down * wide_panel),
        first_column(right * wide_panel) {}

  __device__ unsigned row(unsigned e) const { return first_row + lane.row(e); }
  __device__ unsigned column(unsigned n, unsigned e) const { return first_column + 8 * n + lane.column(e); }
  __device__ bool has(unsigned n, unsigned e) const { return row(e) < order && column(n, e) < order; }
  __device__ double& at(unsigned n, unsigned e) const { return matrix[std::size_t{row(e)} * stride + column(n, e)]; }

  __device__ void clear() {
#pragma unroll
    for (unsigned n = 0; n < tiles; ++n) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) values[n][e] = 0;
    }
  }
  __device__ void load() {
#pragma unroll
    for (unsigned n = 0; n < tiles; ++n) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) values[n][e] = has(n, e) ? at(n, e) : 0;
    }
  }
  __device__ void store() const {
#pragma unroll
    for (unsigned n = 0; n < tiles; ++n) {
#pragma unroll
      for (unsigned e = 0; e < 4; ++e) {
        if (has(n, e)) at(n, e) = values[n][e];
      }
    }
  }
  // The panel's rows: multiples(s, c) of row s in column c of the square.
  template <class Multiples>
  __device__ void subtract(unsigned j, const Multiples& multiples) {
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      double left[4];
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = min(first_row + lane.left_row(i), order - 1);
        left[i] = -matrix[std::size_t{row} * stride + j + lane.left_term(half, i)];
      }
#pragma unroll
      for (unsigned n = 0; n < tiles; ++n) {
        double right[2];
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) right[i] = multiples(lane.right_term(half, i), 8 * n + lane.group);
        tensor_float64::multiply_add(values[n], left, right);
      }
    }
  }
  // In columns that the matrix has already.
  __device__ void subtract_from_matrix(unsigned j) {
    const double* const from = matrix + std::size_t{j} * stride;
    load();
    subtract(j, [&](unsigned s, unsigned c) { return from[s * stride + min(first_column + c, order - 1)]; });
    store();
  }
  // In the panel's own columns; store() must wait until nobody reads multiples there.
  __device__ void subtract_from_nothing(unsigned j) {
    const double* const from = matrix + std::size_t{j} * stride + j;
    clear();
    subtract(j, [&](unsigned s, unsigned c) { return s == c ? 1 : from[s * stride + c]; });
  }
};

// The panel at j and the rows' last column, by lanes for 32 rows from `row` on.
__device__ inline void subtract_from_vector(const cuda::warp_group& warp, double* matrix, unsigned columns, unsigned j,
                                            unsigned row) {
  row += warp.rank;
  if (row >= columns) return;
  const unsigned stride = matrix_stride(columns);
  double* const own = matrix + std::size_t{row} * stride;
  const double* const above = matrix + std::size_t{j} * stride + columns;
  double value = own[columns];
#pragma unroll
  for (unsigned s = 0; s < wide_panel; ++s) value = fma(-own[j + s], above[s * stride], value);
  own[columns] = value;
}

// Takes panel number `part` out of all that one warp alone does not, by `workers` warps of which this is number `own`.
__device__ inline void subtract_from_rows(const cuda::warp_group& warp, double* matrix, unsigned columns, unsigned part,
                                          unsigned own, unsigned workers) {
  const unsigned parts = (columns + wide_panel - 1) / wide_panel, j = part * wide_panel;
  unsigned task = own;
  for (unsigned down = part + 1; down < parts; ++down) {
    const unsigned count = part + parts - down;  // of L̃⁻¹, and from the diagonal on
    for (; task < count; task += workers) {
      const unsigned right = task < part ? task : task - part + down;
      if (down == part + 1 && right == down) continue;  // the next corner
      square_below(warp, matrix, columns, down, right).subtract_from_matrix(j);
    }
    task -= count;
  }
  for (unsigned row = j + wide_panel + task * cuda::warp_size; row < columns; row += workers * cuda::warp_size) {
    subtract_from_vector(warp, matrix, columns, j, row);
  }
}

// With A = L̃DL̃ᵀ the upper triangle of `matrix` and v its column `columns`, leaves D on the diagonal, the lower triangle
// of L̃⁻¹ (whose diagonal is one) below it and L̃⁻¹v in the last column. False when a pivot is not positive and finite.
// `memory` [wide_panel_work]. By two warps at least, and one for each 16 columns.
__device__ inline bool eliminate_wide(const cuda::block_group& block, double* matrix, unsigned columns,
                                      double* memory) {
  auto& panel = *reinterpret_cast<panel_memory*>(memory);
  const cuda::warp_group warp;
  const unsigned index = block.rank / cuda::warp_size, workers = block.size / cuda::warp_size - 1;
  const unsigned parts = (columns + wide_panel - 1) / wide_panel;
  if (index == 0) eliminate_corner(warp, matrix, columns, 0, panel);
  block.sync();
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned j = part * wide_panel, below = parts - part - 1;
    if (panel.good == 0) return false;
    finish_panel(block, matrix, columns, j, panel);
    block.sync();
    if (below == 0) break;
    const bool pending = index != 0 && index <= below;
    square_below own(warp, matrix, columns, part + index, part);
    if (index == 0) {
      square_below(warp, matrix, columns, part + 1, part + 1).subtract_from_matrix(j);
      warp.sync();
      eliminate_corner(warp, matrix, columns, j + wide_panel, panel);
    } else {
      if (pending) own.subtract_from_nothing(j);
      // Those who have no such square begin with the others.
      subtract_from_rows(warp, matrix, columns, part, (index - 1 + workers - below % workers) % workers, workers);
    }
    block.sync();
    if (pending) own.store();
    block.sync();
  }
  return true;
}

}  // namespace shoal::gmm
