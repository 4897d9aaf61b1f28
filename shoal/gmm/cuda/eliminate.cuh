// Gauss's elimination of a symmetric matrix by a group of threads: its Cholesky factor's inverse in place.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include <shoal/gmm/cuda/step_launch.cuh>
#include <shoal/gmm/cuda/thread_group.cuh>

namespace shoal::gmm {

// Columns that are eliminated at once. What one pivot has to wait for (a reciprocal, a multiply-add) is most of the
// time, so every thread works the pivots of a panel out for itself: the others would only wait for the one that did.
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

// Takes the panel at j out of the rows below it; a thread has `Rows` rows in hand at a time.
template <unsigned Rows>
__device__ void subtract_panel(const group_grid& grid, double* matrix, unsigned columns, unsigned j,
                               const panel_pivots<panel>& pivots) {
  const unsigned stride = matrix_stride(columns);
  const double* const above = matrix + std::size_t{j} * stride;
  for (unsigned first = j + panel + grid.row; first < columns; first += Rows * grid.rows) {
    double factors[Rows][panel];
#pragma unroll
    for (unsigned r = 0; r < Rows; ++r) {
      pivots.column_of(above, stride, j, min(first + r * grid.rows, columns - 1), factors[r]);
#pragma unroll
      for (unsigned s = 0; s < panel; ++s) factors[r][s] *= pivots.inverse[s];
    }
    for (unsigned column = grid.column; column <= columns; column += grid.columns) {
      // Between the panel and the diagonal of its first row nothing is kept, nor in a row below.
      if (column - grid.column >= j + panel && column - grid.column + grid.columns <= first) continue;
      const bool inside = column >= j && column < j + panel;
      double multiples[panel];
      pivots.column_of(above, stride, j, column, multiples);
      double values[Rows];
#pragma unroll
      for (unsigned r = 0; r < Rows; ++r) {
        const unsigned i = min(first + r * grid.rows, columns - 1);
        values[r] = inside ? 0 : matrix[std::size_t{i} * stride + column];
      }
#pragma unroll
      for (unsigned r = 0; r < Rows; ++r) {
#pragma unroll
        for (unsigned s = 0; s < panel; ++s) values[r] -= factors[r][s] * multiples[s];
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

// Writes what the elimination makes of the panel's own rows. By one warp, whose threads only overwrite what they alone
// have read; nobody reads these rows any more.
template <unsigned Count>
__device__ void write_panel(double* matrix, unsigned columns, unsigned j, const panel_pivots<Count>& pivots) {
  const unsigned stride = matrix_stride(columns);
  double* const rows = matrix + std::size_t{j} * stride;
  for (unsigned column = threadIdx.x % warp_size; column <= columns; column += warp_size) {
    double values[Count];
    pivots.column_of(rows, stride, j, column, values);
#pragma unroll
    for (unsigned s = 0; s < Count; ++s) {
      rows[s * stride + column] = column == j + s ? pivots.pivot[s] : values[s];
    }
  }
}

template <unsigned Count, class Group>
__device__ bool eliminate_rest(const Group& group, double* matrix, unsigned columns, unsigned j) {
  const panel_pivots<Count> pivots(matrix + std::size_t{j} * matrix_stride(columns) + j, matrix_stride(columns));
  if (!pivots.good) return false;
  group.sync();  // the corner has been read
  if (group.rank < warp_size) write_panel(matrix, columns, j, pivots);
  return true;
}

// With A = L̃DL̃ᵀ the upper triangle of `matrix` and v its column `columns`, leaves D on the diagonal, the lower triangle
// of L̃⁻¹ (whose diagonal is one) below it and L̃⁻¹v in the last column. False when a pivot is not positive and finite.
template <unsigned Rows, class Group>
__device__ bool eliminate(const Group& group, double* matrix, unsigned columns) {
  const unsigned stride = matrix_stride(columns);
  const group_grid grid(group, columns + 1);
  unsigned j = 0;
  for (; j + panel < columns; j += panel) {
    const panel_pivots<panel> pivots(matrix + std::size_t{j} * stride + j, stride);
    if (!pivots.good) return false;
    subtract_panel<Rows>(grid, matrix, columns, j, pivots);
    group.sync();
    if (group.rank < warp_size) write_panel(matrix, columns, j, pivots);
  }
  bool good = false;
  switch (columns - j) {
    case 1:
      good = eliminate_rest<1>(group, matrix, columns, j);
      break;
    case 2:
      good = eliminate_rest<2>(group, matrix, columns, j);
      break;
    case 3:
      good = eliminate_rest<3>(group, matrix, columns, j);
      break;
    default:
      good = eliminate_rest<panel>(group, matrix, columns, j);
  }
  group.sync();
  return good;
}

}  // namespace shoal::gmm
