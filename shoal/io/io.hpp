// Opening, writing and describing data files. The door to this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/core/matrix_view.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Scalars that a fit can run in.
enum class scalar { float32, float64 };

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
};

/// An open file of rows.
template <class Scalar>
struct opened_rows {
  std::unique_ptr<row_source<Scalar>> rows;
  std::vector<std::string> column_names;  ///< empty when the file has none; else one for each column kept
  std::vector<std::string> label_names;   ///< distinct values of the label column, in order of first appearance
  std::vector<std::int32_t> labels;       ///< [rows] indices into label_names; empty without a label column
};

/// What a file holds, without reading all of it where the format allows.
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

/// The scalar that keeps the file's values: float32 for float32 `.npy` and `.fvecs`, float64 for everything else
/// and for pipes, which cannot be looked at beforehand.
scalar natural_scalar(const std::string& path);

/// Opens `.npy` (any real type, C or Fortran order), `.fvecs`, `.bvecs`, `.ivecs`, and text (comma, tab, semicolon or
/// white space; optional header), each of them in gzip too. "-" is text or npy on standard input. Throws io_error and
/// bad_data with file and position (row and column, or byte), bad_argument for a column that is not there.
template <class Scalar>
opened_rows<Scalar> open_rows(const std::string& path, const read_options& options = {});
extern template opened_rows<float> open_rows<float>(const std::string&, const read_options&);
extern template opened_rows<double> open_rows<double>(const std::string&, const read_options&);

file_description describe_file(const std::string& path);

/// A `.npy` file that is mapped for writing, created next to its name and moved there by commit(), so that a name never
/// shows half a file. Element is float, double or std::int32_t. Throws io_error (and says how much space was needed).
template <class Element>
class npy_output {
 public:
  /// `columns` 0 makes a one-dimensional array.
  npy_output(std::string path, std::size_t rows, std::size_t columns);
  ~npy_output();
  npy_output(npy_output&&) noexcept;
  npy_output& operator=(npy_output&&) noexcept;
  Element* data();
  void commit();

 private:
  struct state;
  std::unique_ptr<state> state_;
};
extern template class npy_output<float>;
extern template class npy_output<double>;
extern template class npy_output<std::int32_t>;

/// Writes rows as a C-order `.npy` of Scalar, piece by piece, whole or not at all.
template <class Scalar>
void write_npy(const std::string& path, const row_source<Scalar>& rows);
extern template void write_npy<float>(const std::string&, const row_source<float>&);
extern template void write_npy<double>(const std::string&, const row_source<double>&);

/// Writes rows as comma-separated text, piece by piece, whole or not at all; each number with the fewest digits that
/// read back as the same Scalar. `column_names` (empty, or one for each column) become the header.
template <class Scalar>
void write_csv(const std::string& path, const row_source<Scalar>& rows, const std::vector<std::string>& column_names);
extern template void write_csv<float>(const std::string&, const row_source<float>&, const std::vector<std::string>&);
extern template void write_csv<double>(const std::string&, const row_source<double>&, const std::vector<std::string>&);

/// Replaces the file `path` by `contents`, whole or not at all: writes aside, fsyncs, renames, fsyncs the folder.
void write_file_atomically(const std::string& path, std::string_view contents);

/// The contents of a file of at most `limit` bytes. Throws io_error, bad_data when larger.
std::string read_whole_file(const std::string& path, std::size_t limit);

}  // namespace shoal
