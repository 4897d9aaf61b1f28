// One label for each row, from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <shoal/io/io.hpp>

namespace shoal::app {

/// A file of one column of whole numbers, read piece by piece.
class label_file {
 public:
  /// Throws what open_rows throws, and bad_data for more columns than one.
  explicit label_file(std::string path);

  std::size_t rows() const { return opened_.rows->rows(); }

  /// The labels of the rows from `first` on. Throws bad_data with the row of one that is not a whole number of 32 bits.
  void read(std::size_t first, std::span<std::int32_t> labels);

 private:
  std::string path_;
  opened_rows<double> opened_;
  aligned_buffer<double> buffer_;
};

}  // namespace shoal::app
