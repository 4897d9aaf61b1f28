// Where the numbers of an operand of Hopper's products by four warps lie in shared memory.
#pragma once

namespace shoal::gmm::tensor {

/// An operand is 128 rows or components, or fewer, times a step of 16. It is made of core matrices, 8 rows of 16 bytes
/// each: those of the step's two halves are neighbours, then come the next 8 rows. Place of (row or component, element
/// of the step) in it.
constexpr int operand_place(int row, int element) {
  return row / 8 * 128 + element / 8 * 64 + row % 8 * 8 + element % 8;
}

/// Bytes between the rows of core matrices, as cuda::describe() wants them.
inline constexpr unsigned row_stride = 256;

/// Rows are arranged so that a thread of the moments reads neighbours: where row `row` of a step of 16 comes in it.
constexpr int step_place(int row) { return row / 4 * 2 + row % 2 + row % 4 / 2 * 8; }

}  // namespace shoal::gmm::tensor
