// Labels as rows of one column.
#include "metrics/label_file.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <shoal/core/error.hpp>

namespace shoal::app {

label_file::label_file(std::string path) : path_(std::move(path)), opened_(open_rows<double>(path_)) {
  if (opened_.rows->columns() != 1) {
    throw bad_data(fmt::format("{}: labels are one column; got {}", path_, opened_.rows->columns()));
  }
}

void label_file::read(std::size_t first, std::span<std::int32_t> labels) {
  const matrix_view<const double> some = opened_.rows->read(first, labels.size(), buffer_);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double value = some(i, 0);
    if (!(std::abs(value) < 0x1p31 && value == std::floor(value))) {
      throw bad_data(
          fmt::format("{}: the label of row {} is {}; labels are whole numbers of 32 bits", path_, first + i, value));
    }
    labels[i] = static_cast<std::int32_t>(value);
  }
}

}  // namespace shoal::app
