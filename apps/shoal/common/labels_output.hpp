// One label for each row: in a file, or in memory where they are only looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/npy_result.hpp"

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
  std::int32_t* data() {
    if (!memory_.empty()) return memory_.data();
    return file_ ? file_->data() : nullptr;
  }

  /// Says which rows this rank has written, and, where somebody is to look at all of them, gets those of the others.
  void share(const row_range& own, bool looked_at) {
    own_ = own;
    if (!looked_at || !wanted() || alone(ranks())) return;
    memory_ = gathered(ranks(), std::vector<std::int32_t>(data() + own.first, data() + own.end));
  }

  /// Gives the file its name.
  void commit() {
    if (file_) file_->commit(own_);
  }

 private:
  std::optional<npy_result<std::int32_t>> file_;
  std::vector<std::int32_t> memory_;
  row_range own_;
};

}  // namespace shoal::app
