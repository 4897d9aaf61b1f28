// Assignments of many problems of one shape.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/core/aligned_buffer.hpp>

namespace shoal::assignment {

/// What solution.hpp says of one problem, one problem behind the other. Of an infeasible problem all columns and rows
/// are unassigned, and the potentials not-a-number; `solve` names the rows that conflict.
struct batch_solution {
  std::size_t problems = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  aligned_buffer<std::uint8_t> feasible;      ///< [problems]
  aligned_buffer<std::uint8_t> certified;     ///< [problems]
  aligned_buffer<double> cost;                ///< [problems]
  aligned_buffer<std::size_t> column_of_row;  ///< [problems][rows]
  aligned_buffer<std::size_t> row_of_column;  ///< [problems][columns]
  aligned_buffer<double> row_potentials;      ///< [problems][rows]
  aligned_buffer<double> column_potentials;   ///< [problems][columns]
};

}  // namespace shoal::assignment
