// Rows of text files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <shoal/io/byte_source.hpp>
#include <shoal/io/rows_file.hpp>
#include <shoal/io/text_layout.hpp>

namespace shoal {

/// A text whose first lines were looked at: their layout is known, and the rows are still to be read, once.
class text_start {
 public:
  /// `path` is the file's name. Throws bad_data when the first lines are no table.
  text_start(std::string path, std::unique_ptr<byte_source> bytes);

  const std::string& path() const { return path_; }
  const text_layout& layout() const { return layout_; }

  /// What the first lines say; the rows are not counted.
  file_description describe() const;

 private:
  template <class Scalar>
  friend opened_rows<Scalar> read_text(text_start& start, const read_options& options);
  friend file_description describe_text(text_start& start);

  std::string path_;
  std::unique_ptr<byte_source> bytes_;
  line_reader lines_;
  std::vector<numbered_line> ahead_;
  text_layout layout_;
};

/// Reads all rows. Rows above options.memory_limit go to a temporary file.
template <class Scalar>
opened_rows<Scalar> read_text(text_start& start, const read_options& options);
extern template opened_rows<float> read_text<float>(text_start&, const read_options&);
extern template opened_rows<double> read_text<double>(text_start&, const read_options&);

/// Counts the rows and checks that each has as many fields as the first; the fields need not be numbers.
file_description describe_text(text_start& start);

}  // namespace shoal
