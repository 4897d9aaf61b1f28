// Gauss's elimination of a symmetric matrix by a group of threads: its Cholesky factor's inverse in place.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/execution/cuda/thread_group.cuh>
#include <shoal/gmm/cuda/step/step_launch.cuh>

namespace shoal::gmm {

// Columns that are eliminated at once. What one pivot has to wait for (a reciprocal, a multiply-add) is most of the
// time, so every thread that needs the pivots of a panel works them out for itself.
inline constexpr unsigned panel = 4;

// The elimination of `Count` columns from each other, starting at row and column j.
template <unsigned Count>
struct panel_pivots {
  double pivot[Count];
  double inverse[Count];
  double factor[Count][Count];  // below the diagonal: what multiple of row t is taken from row s
  bool good = true;             // pivots are positive and finite

  __device__ panel_pivots(const double* corner, unsigned stride) {
    double a[Count][Count];
#pragma unroll
    for (unsigned s = 0; s < Count; ++s) {
#pragma unroll
      for (unsigned t = s; t < Count; ++t) a[s][t] = corner[s * stride + t];
    }
#pragma unroll
    for (unsigned t = 0; t < Count; ++t) {
      pivot[t] = a[t][t];
      good = good && pivot[t] > 0 && !isinf(pivot[t]);
      inverse[t] = 1 / pivot[t];
#pragma unroll
      for (unsigned s = t + 1; s < Count; ++s) {
        factor[s][t] = a[t][s] * inverse[t];
#pragma unroll
        for (unsigned u = s; u < Count; ++u) a[s][u] -= factor[s][t] * a[t][u];
      }
    }
  }

  // Column `column` of the panel's rows after the elimination; `rows` points to the first of them. In the panel's own
  // columns it is that of L̃⁻¹, whose diagonal is one.
  __device__ void column_of(const double* rows, unsigned stride, unsigned j, unsigned column,
                            double (&values)[Count]) const {
    const bool inside = column >= j && column < j + Count;
#pragma unroll
    for (unsigned s = 0; s < Count; ++s) {
      values[s] = rows[s * stride + column];
      if (inside) values[s] = column == j + s ? 1 : 0;
    }
#pragma unroll
    for (unsigned s = 1; s < Count; ++s) {
#pragma unroll
      for (unsigned t = 0; t < s; ++t) values[s] -= factor[s][t] * values[t];
    }
  }
};

// Takes the panel at j out of the rows below it; a thread has `Rows` rows in hand at a time. Panel tells what is taken
// from rows and columns: factors_of(row, values), multiples_of(column, values).
template <unsigned Rows, class Panel>
__device__ void subtract_panel(const cuda::group_grid& grid, double* matrix, unsigned columns, unsigned j,
                               const Panel& taken) {
  const unsigned stride = matrix_stride(columns);
  for (unsigned first = j + panel + grid.row; first < columns; first += Rows * grid.rows) {
    double factors[Rows][panel];
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r) taken.factors_of(min(first + r * grid.rows, columns - 1), factors[r]);
    for (unsigned column = grid.column; column <= columns; column += grid.columns) {
      // Columns between the panel and a row's diagonal hold nothing yet; here that is so for all rows in hand.
      if (column - grid.column >= j + panel && column - grid.column + grid.columns <= first) continue;
      const bool inside = column >= j && column < j + panel;
      double multiples[panel];
      taken.multiples_of(column, multiples);
      double values[Rows];
#pragma unroll
      for (unsigned r = 0; r < Rows; ++r) {
        const unsigned i = first + r * grid.rows;
        values[r] = inside || i >= columns ? 0 : matrix[std::size_t{i} * stride + column];
      }
#pragma unroll
      for (unsigned s = 0; s < panel; ++s) {
#pragma unroll
        for (unsigned r = 0; r < Rows; ++r) values[r] -= factors[r][s] * multiples[s];
      }
#pragma unroll
      for (unsigned r = 0; r < Rows; ++r) {
        const unsigned i = first + r * grid.rows;
        const bool wanted = i < columns && (column < j + panel || column >= i);
        if (wanted) matrix[std::size_t{i} * stride + column] = values[r];
      }
    }
  }
}

// What a thread that knows the pivots works out for itself of the panel's rows.
struct own_panel {
  const double* rows;  // of the panel, in the matrix
  unsigned stride;
  unsigned j;
  const panel_pivots<panel>& pivots;

  __device__ void factors_of(unsigned row, double (&values)[panel]) const {
    pivots.column_of(rows, stride, j, row, values);
#pragma unroll
    for (unsigned s = 0; s < panel; ++s) values[s] *= pivots.inverse[s];
  }
  __device__ void multiples_of(unsigned column, double (&values)[panel]) const {
    pivots.column_of(rows, stride, j, column, values);
  }
};

// Writes what the elimination makes of the panel's own rows, which nobody reads any more but the thread that overwrites
// them.
template <unsigned Count>
__device__ void write_panel(double* matrix, unsigned columns, unsigned j, const panel_pivots<Count>& pivots) {
  const unsigned stride = matrix_stride(columns);
  double* const rows = matrix + std::size_t{j} * stride;
  for (unsigned column = threadIdx.x % cuda::warp_size; column <= columns; column += cuda::warp_size) {
    double values[Count];
    pivots.column_of(rows, stride, j, column, values);
#pragma unroll
    for (unsigned s = 0; s < Count; ++s) {
      rows[s * stride + column] = column == j + s ? pivots.pivot[s] : values[s];
    }
  }
}

template <unsigned Count>
__device__ bool eliminate_rest(const cuda::warp_group& warp, double* matrix, unsigned columns, unsigned j) {
  const panel_pivots<Count> pivots(matrix + std::size_t{j} * matrix_stride(columns) + j, matrix_stride(columns));
  if (!pivots.good) return false;
  warp.sync();  // the corner has been read
  write_panel(matrix, columns, j, pivots);
  return true;
}

// eliminate(), below, by a warp: quicker for few columns, because nothing has to pass from thread to thread.
__device__ inline bool eliminate(const cuda::warp_group& warp, double* matrix, unsigned columns, double* /*memory*/) {
  constexpr unsigned rows_in_hand = 2;
  const unsigned stride = matrix_stride(columns);
  const cuda::group_grid grid(warp, columns + 1);
  unsigned j = 0;
  for (; j + panel < columns; j += panel) {
    const panel_pivots<panel> pivots(matrix + std::size_t{j} * stride + j, stride);
    if (!pivots.good) return false;
    subtract_panel<rows_in_hand>(grid, matrix, columns, j,
                                 own_panel{matrix + std::size_t{j} * stride, stride, j, pivots});
    warp.sync();
    write_panel(matrix, columns, j, pivots);
  }
  bool good = false;
  switch (columns - j) {
    case 1:
      good = eliminate_rest<1>(warp, matrix, columns, j);
      break;
    case 2:
      good = eliminate_rest<2>(warp, matrix, columns, j);
      break;
    case 3:
      good = eliminate_rest<3>(warp, matrix, columns, j);
      break;
    default:
      good = eliminate_rest<panel>(warp, matrix, columns, j);
  }
  warp.sync();
  return good;
}

// What a panel's elimination leaves for the rows below, beside the matrix.
struct panel_rows {
  double* rows;      // [panel][columns + 1] after the elimination
  double* factors;   // the same over the pivots
  double* good;      // one value: 1 when the pivots are
  unsigned columns;  // of these arrays

  __device__ panel_rows(double* memory, unsigned matrix_columns)
      : rows(memory),
        factors(memory + panel * (matrix_columns + 1)),
        good(memory + 2 * panel * (matrix_columns + 1)),
        columns(matrix_columns + 1) {}

  __device__ void factors_of(unsigned row, double (&values)[panel]) const {
#pragma unroll
    for (unsigned s = 0; s < panel; ++s) values[s] = factors[s * columns + row];
  }
  __device__ void multiples_of(unsigned column, double (&values)[panel]) const {
#pragma unroll
    for (unsigned s = 0; s < panel; ++s) values[s] = rows[s * columns + column];
  }
};

// Eliminates `Count` columns from each other, a thread for each column of their rows.
template <unsigned Count>
__device__ void eliminate_panel(const cuda::block_group& block, const double* matrix, unsigned j,
                                const panel_rows& into) {
  if (block.rank >= into.columns) return;
  const unsigned stride = matrix_stride(into.columns - 1);
  const double* const above = matrix + std::size_t{j} * stride;
  const panel_pivots<Count> pivots(above + j, stride);
  if (block.rank == 0) *into.good = pivots.good ? 1 : 0;
  for (unsigned column = block.rank; column < into.columns; column += block.size) {
    double values[Count];
    pivots.column_of(above, stride, j, column, values);
#pragma unroll
    for (unsigned s = 0; s < Count; ++s) {
      into.factors[s * into.columns + column] = values[s] * pivots.inverse[s];
      // Where the unit diagonal of L̃⁻¹ would be, the matrix keeps D.
      into.rows[s * into.columns + column] = values[s];
    }
    if (column >= j && column < j + Count) {
#pragma unroll
      for (unsigned s = 0; s < Count; ++s) {
        if (column == j + s) into.factors[s * into.columns + column] = pivots.pivot[s];
      }
    }
  }
}

// Writes the panel's own rows, which nobody reads any more.
__device__ inline void write_panel(const cuda::block_group& block, double* matrix, unsigned j, unsigned count,
                                   const panel_rows& from) {
  const unsigned stride = matrix_stride(from.columns - 1);
  for (unsigned column = block.rank; column < from.columns; column += block.size) {
    for (unsigned s = 0; s < count; ++s) {
      const double* const source = column == j + s ? from.factors : from.rows;
      matrix[std::size_t{j + s} * stride + column] = source[s * from.columns + column];
    }
  }
}

// With A = L̃DL̃ᵀ the upper triangle of `matrix` and v its column `columns`, leaves D on the diagonal, the lower triangle
// of L̃⁻¹ (whose diagonal is one) below it and L̃⁻¹v in the last column. False when a pivot is not positive and finite.
// `memory` [panel_work(columns)].
__device__ inline bool eliminate(const cuda::block_group& block, double* matrix, unsigned columns, double* memory) {
  constexpr unsigned rows_in_hand = 4;
  const cuda::group_grid grid(block, columns + 1);
  const panel_rows rows(memory, columns);
  for (unsigned j = 0; j < columns; j += panel) {
    const unsigned count = min(panel, columns - j);
    switch (count) {
      case 1:
        eliminate_panel<1>(block, matrix, j, rows);
        break;
      case 2:
        eliminate_panel<2>(block, matrix, j, rows);
        break;
      case 3:
        eliminate_panel<3>(block, matrix, j, rows);
        break;
      default:
        eliminate_panel<panel>(block, matrix, j, rows);
    }
    block.sync();
    if (*rows.good == 0) return false;
    write_panel(block, matrix, j, count, rows);
    subtract_panel<rows_in_hand>(grid, matrix, columns, j, rows);
    block.sync();
  }
  return true;
}

}  // namespace shoal::gmm
