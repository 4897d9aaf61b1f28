// Rows of binary files: held in memory, or read piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <shoal/io/column_choice.hpp>
#include <shoal/io/element_type.hpp>
#include <shoal/io/file.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Where the elements of a binary file lie.
struct binary_layout {
  element_type element = element_type::float64;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::uint64_t offset = 0;       ///< of the first row, or of the first column in Fortran order
  bool fortran_order = false;     ///< columns one after another; else rows
  std::size_t record_bytes = 0;   ///< from one row to the next, in C order
  std::size_t record_header = 0;  ///< bytes before a row's elements: 4 for the dimension of .fvecs, else 0
};

/// The rows of a file, in memory when they take at most `memory_limit` bytes in Scalar (0: no limit), else read piece
/// by piece. They are read, never mapped: a map of a file that another process shortens ends this one by a signal, and
/// rows that are held cannot change during a fit. Takes the file over.
template <class Scalar>
std::unique_ptr<row_source<Scalar>> open_binary(input_file file, const binary_layout& layout,
                                                const column_choice& choice, std::size_t memory_limit);

/// The rows of a file, always read piece by piece.
template <class Scalar>
std::unique_ptr<row_source<Scalar>> stream_binary(input_file file, const binary_layout& layout,
                                                  const column_choice& choice);

extern template std::unique_ptr<row_source<float>> open_binary<float>(input_file, const binary_layout&,
                                                                      const column_choice&, std::size_t);
extern template std::unique_ptr<row_source<double>> open_binary<double>(input_file, const binary_layout&,
                                                                        const column_choice&, std::size_t);
extern template std::unique_ptr<row_source<float>> stream_binary<float>(input_file, const binary_layout&,
                                                                        const column_choice&);
extern template std::unique_ptr<row_source<double>> stream_binary<double>(input_file, const binary_layout&,
                                                                          const column_choice&);

}  // namespace shoal
