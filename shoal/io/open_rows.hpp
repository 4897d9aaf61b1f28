// Opens files of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <shoal/io/rows_file.hpp>

namespace shoal {

struct opened_file;

/// A file of rows that is opened once, whatever is asked of it: a pipe cannot be opened a second time, and a file of
/// this name may be another by then.
class data_file {
 public:
  /// "-" is standard input. A pattern (part-*.npy) that is no file's name stands for all files that match it, one below
  /// the other in the order of their names (file_names.hpp). `unpacked_limit` is that of read_options. Throws what
  /// open_rows() throws.
  explicit data_file(const std::string& path, std::uint64_t unpacked_limit = default_unpacked_limit);
  ~data_file();
  data_file(data_file&&) noexcept;
  data_file& operator=(data_file&&) noexcept;

  /// The scalar that keeps the values: float32 for float32 `.npy` and `.fvecs`, float64 for everything else.
  scalar natural_scalar() const;

  /// What its beginning says; the rows of a text are not counted.
  file_description describe_start();

  /// The rows. To be called once, and last; `options.unpacked_limit` is not looked at again.
  template <class Scalar>
  opened_rows<Scalar> read(const read_options& options = {});

 private:
  std::unique_ptr<opened_file> opened_;
};
extern template opened_rows<float> data_file::read<float>(const read_options&);
extern template opened_rows<double> data_file::read<double>(const read_options&);

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
