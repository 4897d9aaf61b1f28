// A data file whose kind is known, before its rows are.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <shoal/io/binary_source.hpp>
#include <shoal/io/byte_source.hpp>
#include <shoal/io/file.hpp>
#include <shoal/io/rows_file.hpp>
#include <shoal/io/text_source.hpp>

namespace shoal {

enum class file_format { text, npy, fvecs, bvecs, ivecs };

/// Either a regular binary file (`file`), or bytes that can only be read in order (`bytes`): text, gzip, pipes.
struct opened_file {
  std::string path;
  file_format format = file_format::text;
  bool compressed = false;
  std::vector<std::byte> start;  ///< of the unpacked file: a whole .npy header if it is one
  input_file file;
  std::unique_ptr<peeked_bytes> bytes;
  std::unique_ptr<text_start> text;     ///< once first_lines() was called
  std::optional<binary_layout> layout;  ///< once layout_of() was called
  std::vector<opened_file> following;   ///< files whose rows come below these
};

/// Finds out the kind of a file from its first bytes and its name. Throws io_error and bad_data. `unpacked_limit` is
/// that of read_options.
opened_file recognise_file(input_file file, std::uint64_t unpacked_limit = default_unpacked_limit);

/// The first lines of a text file. Throws bad_data when they are no table.
text_start& first_lines(opened_file& opened);

/// The scalar that keeps the file's values. Throws bad_data for a damaged header.
scalar natural_scalar_of(const opened_file& opened);

/// Where the elements of a binary file lie. Bytes that can only be read in order are first laid down in an unnamed
/// temporary file. Throws bad_data for a damaged header and a size that does not fit it.
const binary_layout& layout_of(opened_file& opened);

/// What the beginning of a file says; the rows of a text are not counted.
file_description describe_start(opened_file& opened);

/// What describe_file() says of a file.
file_description describe_opened(opened_file opened);

/// The rows of a file.
template <class Scalar>
opened_rows<Scalar> read_opened(opened_file opened, const read_options& options);
extern template opened_rows<float> read_opened<float>(opened_file, const read_options&);
extern template opened_rows<double> read_opened<double>(opened_file, const read_options&);

}  // namespace shoal
