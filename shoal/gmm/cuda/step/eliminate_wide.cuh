// The elimination of eliminate.cuh by a block, for matrices of more columns: panels of 16, and one warp that finishes
// the next panel's corner in registers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>

namespace shoal::gmm {

// Columns that a block eliminates at once: each panel's corner by one warp, which is at work on the next corner while
// the others take the panel out of the rows below.
inline constexpr unsigned wide_panel = 16;

// What a block needs beside the matrix. What lies below the corner's diagonal is that of all its columns.
struct panel_memory {
  double factors[wide_panel][wide_panel];  // [t][s > t] what multiple of the corner's row t is taken from row s
  double inside[wide_panel][wide_panel];   // the corner's rows of L̃⁻¹, with its unit diagonal
  double pivots[wide_panel];
  double inverses[wide_panel];  // of pivots
  double good;                  // 1 when pivots are positive and finite
};
static_assert(sizeof(panel_memory) <= wide_panel_work * sizeof(double));

// Eliminates the corner at j from itself, of which a lane has a column. What a pivot waits for, a reciprocal and two
// multiply-adds, passes from lane to lane in registers.
__device__ inline void eliminate_corner(const cuda::warp_group& warp, const double* matrix, unsigned columns,
                                        unsigned j, panel_memory& to) {
  const unsigned stride = matrix_stride(columns), count = min(wide_panel, columns - j);
  const unsigned lane = warp.rank % wide_panel;  // the second half of the warp does the same
  const double* const own = matrix + std::size_t{j} * stride + j + lane;
  double above[wide_panel];
#pragma unroll
  for (unsigned s = 0; s < wide_panel; ++s) above[s] = s < lane && lane < count ? own[s * stride] : 0;
  double diagonal = lane < count ? own[lane * stride] : 1;
  bool good = true;
#pragma unroll
  for (unsigned t = 0; t < wide_panel; ++t) {
    if (t == count) break;
    const double pivot = __shfl_sync(cuda::every_lane, diagonal, t);
    good = good && pivot > 0 && !isinf(pivot);
    const double inverse = 1 / pivot;
    const double value = lane > t ? above[t] : 0;
    const double factor = value * inverse;
    diagonal = fma(-factor, value, diagonal);
#pragma unroll
    for (unsigned s = t + 1; s < wide_panel; ++s) {
      above[s] = fma(-__shfl_sync(cuda::every_lane, factor, s), value, above[s]);
    }
    if (warp.rank < wide_panel) to.factors[t][lane] = factor;
    if (warp.rank == t) {
      to.pivots[t] = pivot;
      to.inverses[t] = inverse;
    }
  }
  if (warp.rank == 0) to.good = good ? 1 : 0;
}

// Eliminates the corner at j from its rows, a thread for each column of them. The multiples of the panel's rows that
// will be taken from a row below lie in that row, in the panel's columns, where nothing is needed yet.
__device__ inline void finish_panel(const cuda::block_group& block, double* matrix, unsigned columns, unsigned j,
                                    panel_memory& memory) {
  const unsigned stride = matrix_stride(columns), count = min(wide_panel, columns - j);
  for (unsigned column = block.rank; column <= columns; column += block.size) {
    const bool inside = column >= j && column < j + count;
    double* const rows = matrix + std::size_t{j} * stride + column;
    double values[wide_panel];
#pragma unroll
    for (unsigned s = 0; s < wide_panel; ++s) {
      values[s] = s < count && !inside ? rows[s * stride] : 0;
      if (column == j + s) values[s] = 1;
    }
#pragma unroll
    for (unsigned t = 0; t < wide_panel; ++t) {
      if (t == count) break;
#pragma unroll
      for (unsigned s = t + 1; s < wide_panel; ++s) values[s] = fma(-memory.factors[t][s], values[t], values[s]);
    }
#pragma unroll
    for (unsigned s = 0; s < wide_panel; ++s) {
      if (s == count) break;
      if (inside) memory.inside[s][column - j] = values[s];
      // Where the unit diagonal of L̃⁻¹ would be, the matrix keeps D.
      rows[s * stride] = inside && column == j + s ? memory.pivots[s] : values[s];
    }
    if (column < j + wide_panel || column >= columns) continue;
#pragma unroll
    for (unsigned s = 0; s < wide_panel; ++s) {
      matrix[std::size_t{column} * stride + j + s] = values[s] * memory.inverses[s];
    }
  }
}

// A square of the rows below a panel, from which a warp takes the panel out: a lane has four of its rows in two of its
// columns.
struct square_below {
  static constexpr unsigned rows = 4, columns = 2, across = wide_panel / columns;
  static_assert(across * (wide_panel / rows) == cuda::warp_size);

  double* matrix;
  unsigned order;
  unsigned stride;
  unsigned row;     // the lane's first; others are `wide_panel / rows` apart
  unsigned column;  // the lane's first; others are `across` apart
  double values[rows][columns];

  __device__ square_below(const cuda::warp_group& warp, double* matrix, unsigned columns, unsigned down, unsigned right)
      : matrix(matrix),
        order(columns),
        stride(matrix_stride(columns)),
        row(down * wide_panel + warp.rank / across),
        column(right * wide_panel + warp.rank % across) {}

  __device__ unsigned row_of(unsigned q) const { return row + q * (wide_panel / rows); }
  __device__ unsigned column_of(unsigned u) const { return column + u * across; }
  __device__ bool has(unsigned q, unsigned u) const { return row_of(q) < order && column_of(u) < order; }
  __device__ double& at(unsigned q, unsigned u) const { return matrix[std::size_t{row_of(q)} * stride + column_of(u)]; }

  __device__ void clear() {
#pragma unroll
    for (unsigned q = 0; q < rows; ++q) {
#pragma unroll
      for (unsigned u = 0; u < columns; ++u) values[q][u] = 0;
    }
  }
  __device__ void load() {
#pragma unroll
    for (unsigned q = 0; q < rows; ++q) {
#pragma unroll
      for (unsigned u = 0; u < columns; ++u) values[q][u] = has(q, u) ? at(q, u) : 0;
    }
  }
  __device__ void store() const {
#pragma unroll
    for (unsigned q = 0; q < rows; ++q) {
#pragma unroll
      for (unsigned u = 0; u < columns; ++u) {
        if (has(q, u)) at(q, u) = values[q][u];
      }
    }
  }
  // The panel's rows: multiples(s, u) of row s in the lane's column u.
  template <class Multiples>
  __device__ void subtract(unsigned j, const Multiples& multiples) {
    const double* factors[rows];
#pragma unroll
    for (unsigned q = 0; q < rows; ++q) factors[q] = matrix + std::size_t{min(row_of(q), order - 1)} * stride + j;
#pragma unroll
    for (unsigned s = 0; s < wide_panel; ++s) {
      double right[columns];
#pragma unroll
      for (unsigned u = 0; u < columns; ++u) right[u] = multiples(s, u);
#pragma unroll
      for (unsigned q = 0; q < rows; ++q) {
        const double factor = factors[q][s];
#pragma unroll
        for (unsigned u = 0; u < columns; ++u) values[q][u] = fma(-factor, right[u], values[q][u]);
      }
    }
  }
  // In columns that the matrix has already.
  __device__ void subtract_from_matrix(unsigned j) {
    const double* from[columns];
#pragma unroll
    for (unsigned u = 0; u < columns; ++u) from[u] = matrix + std::size_t{j} * stride + min(column_of(u), order - 1);
    load();
    subtract(j, [&](unsigned s, unsigned u) { return from[u][s * stride]; });
    store();
  }
  // In the panel's own columns; store() must wait until nobody reads multiples there.
  __device__ void subtract_from_nothing(unsigned j, const panel_memory& memory) {
    const unsigned first = column - j;
    clear();
    subtract(j, [&](unsigned s, unsigned u) { return memory.inside[s][first + u * across]; });
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
// `memory` [wide_panel_work]. By two warps at least, and one for each 16 columns. Every number has the bits of
// eliminate(): what is subtracted from it comes in the same order.
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
      if (pending) own.subtract_from_nothing(j, panel);
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
