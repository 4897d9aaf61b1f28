// An array of one row for each row of the data, which all ranks write together: each its own rows, in one file.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <shoal/io/io.hpp>
#include <shoal/io/npy_slices.hpp>

#include "common/ranks.hpp"

namespace shoal::app {

template <class Element>
class npy_result {
 public:
  /// `columns` 0 makes a one-dimensional array. All ranks call it, and all that follows but data().
  npy_result(const std::string& path, std::size_t rows, std::size_t columns) {
    if (alone(ranks())) {
      whole_.emplace(path, rows, columns);
      return;
    }
    if (first_rank()) slices_.emplace(path, rows, columns);
    const std::string made = slices_ ? slices_->part() : std::string();
    const std::vector<char> part = shared_from(ranks(), 0, std::vector<char>(made.begin(), made.end()));
    if (!slices_) slices_.emplace(npy_part{{part.begin(), part.end()}}, path, rows, columns);
  }

  /// The whole array, of which this rank writes its own rows alone.
  Element* data() { return whole_ ? whole_->data() : slices_->data(); }

  /// Gives the file its name when all ranks have written; `own` are the rows of this one.
  void commit(const row_range& own) {
    if (whole_) return whole_->commit();
    slices_->write(own.first, own.end);
    wait_for_all_ranks();
    if (first_rank()) slices_->commit();
  }

 private:
  std::optional<npy_output<Element>> whole_;
  std::optional<npy_slices<Element>> slices_;
};

}  // namespace shoal::app
