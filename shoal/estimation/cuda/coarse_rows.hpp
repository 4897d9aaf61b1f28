// Rows in bytes, which say of most points that they need not be measured.
//
// A row x is clipped to a box about the columns' means m, and stands as q = round((x − m)/s), a byte for each column.
// What rounding moved it by is known: err. Clipping to a box moves no two points apart, so of any two
//   ‖x − y‖ ≥ s (‖q_x − q_y‖ − err_x − err_y),
// and ‖q_x − q_y‖² = |q_x|² + |q_y|² − 2 q_x·q_y is an integer that tensor cores find exactly. Where it says that y
// cannot be nearer than what x knows already, y is not measured, and nothing shows of that.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace shoal {

/// Columns whose products of bytes 32 bits hold.
inline constexpr std::size_t most_coarse_columns = std::size_t{1} << 14;

/// Rows beyond the last, up to whole ones of so many, are there too.
inline constexpr std::size_t coarse_unit = 16;

/// What a row needs for not being measured.
struct coarse_bound {
  float reach;  ///< how near a point must be to matter, in units of the scale; infinite at first
  int norm;     ///< |q|²
};

/// How bytes stand for values.
struct coarse_scale {
  const double* middle;  ///< [columns]
  double unit;           ///< s
  double box;            ///< half the box's width in such units, at most 127
};

/// Rows in bytes, in the device's memory.
struct coarse_rows {
  std::size_t count, columns;
  std::size_t pitch;     ///< bytes of a row, 16 or a multiple of 32
  std::int8_t* values;   ///< [count][pitch], zero beyond the last column
  coarse_bound* bounds;  ///< [count]
  float* errors;         ///< [count] err / s, rounded up
};

}  // namespace shoal
