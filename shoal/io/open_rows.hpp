// Opens files of rows.
#pragma once

#include <string>

#include <shoal/io/rows_file.hpp>

namespace shoal {

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

/// What is in a file. Throws what open_rows() throws.
file_description describe_file(const std::string& path);

}  // namespace shoal
