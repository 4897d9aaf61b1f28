// One label for each row: in a file, or in memory where they are only looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <shoal/io/io.hpp>

namespace shoal::app {

class labels_output {
 public:
  /// In the file when one is named; else in memory when `needed`; else nowhere.
  labels_output(const std::string& path, std::size_t rows, bool needed) {
    if (!path.empty()) {
      file_.emplace(path, rows, 0);
    } else if (needed) {
      memory_.resize(rows);
    }
  }

  bool wanted() const { return file_ || !memory_.empty(); }
  std::int32_t* data() { return file_ ? file_->data() : memory_.empty() ? nullptr : memory_.data(); }

  /// Gives the file its name.
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<npy_output<std::int32_t>> file_;
  std::vector<std::int32_t> memory_;
};

}  // namespace shoal::app
