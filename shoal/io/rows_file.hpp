// What a file of rows is asked for, and what it holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <shoal/io/row_source.hpp>

namespace shoal {

/// Scalars that a fit can run in.
enum class scalar { float32, float64 };

/// What a compressed file may unpack to whatever its size, unless it is told otherwise.
inline constexpr std::uint64_t default_unpacked_limit = std::uint64_t{64} << 20;

/// How a file is read.
struct read_options {
  /// Columns to keep, in this order: names, 0-based numbers, or inclusive ranges "2..5"; empty keeps all.
  std::vector<std::string> columns;
  /// A column (name or number) that is left out of the features; its values come back in opened_rows::labels. Empty:
  /// none.
  std::string label_column;
  /// Rows that take more bytes than this are not held in memory: files of fixed-size rows are read piece by piece,
  /// text and compressed files are converted once into an unnamed temporary file. 0: no limit.
  std::size_t memory_limit = 0;
  /// Compressed data that unpack to more bytes than this, and to more than 100 times their own size, are refused.
  /// 0: no limit.
  std::uint64_t unpacked_limit = default_unpacked_limit;
  /// Whether texts may hold "inf" and "-inf": costs that forbid a pair. Rows of data may not.
  bool infinite_values = false;
};

/// An open file of rows.
template <class Scalar>
struct opened_rows {
  std::unique_ptr<row_source<Scalar>> rows;
  std::vector<std::string> column_names;  ///< empty when the file has none; else one for each column kept
  std::vector<std::string> label_names;   ///< distinct values of the label column, in order of first appearance
  std::vector<std::int32_t> labels;       ///< [rows] indices into label_names; empty without a label column
};

/// What a file holds.
struct file_description {
  std::string format;   ///< "npy", "text", "fvecs", "bvecs", "ivecs"
  std::string element;  ///< "float32", "int16", "text", …
  std::string order;    ///< "C" or "Fortran" for npy, else empty
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool compressed = false;
  bool header = false;
  std::vector<std::string> column_names;
};

}  // namespace shoal
