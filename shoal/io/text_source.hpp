// Rows of text files.
#pragma once

#include <string>

#include <shoal/io/byte_source.hpp>
#include <shoal/io/rows_file.hpp>

namespace shoal {

/// Reads all rows. `path` is the file's name. Rows above options.memory_limit go to a temporary file.
template <class Scalar>
opened_rows<Scalar> read_text(const std::string& path, byte_source& bytes, const read_options& options);
extern template opened_rows<float> read_text<float>(const std::string&, byte_source&, const read_options&);
extern template opened_rows<double> read_text<double>(const std::string&, byte_source&, const read_options&);

/// Counts the rows and checks that each has as many fields as the first; the fields need not be numbers.
file_description describe_text(const std::string& path, byte_source& bytes);

}  // namespace shoal
