// The distinct values of a label column, numbered in order of first appearance.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <shoal/core/error.hpp>

namespace shoal {

class label_list {
 public:
  void add(std::string_view value) {
    // Files are often sorted by label, and then the last one is right without a search.
    if (labels.empty() || names[static_cast<std::size_t>(last_)] != value) last_ = number_of(value);
    labels.push_back(last_);
  }

  std::vector<std::string> names;
  std::vector<std::int32_t> labels;

 private:
  std::int32_t number_of(std::string_view value) {
    const auto found = numbers_.find(value);
    if (found != numbers_.end()) return found->second;
    if (names.size() == static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw bad_data("the label column has more than 2147483647 distinct values; choose another column");
    }
    const auto number = static_cast<std::int32_t>(names.size());
    names.emplace_back(value);
    numbers_.emplace(value, number);
    return number;
  }

  std::map<std::string, std::int32_t, std::less<>> numbers_;
  std::int32_t last_ = 0;
};

}  // namespace shoal
