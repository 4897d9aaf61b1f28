// The readers of statistics that fuzz_statistics gives its inputs to: each family has one in
// tests/NAME/fuzz_statistics.cpp.
#pragma once

#include <string>
#include <vector>

#include "refusal.hpp"

namespace fuzzing {

/// Reads an input as statistics. What it accepts it must write as it was.
using statistics_reader = void (*)(const std::string& bytes);

inline std::vector<statistics_reader>& statistics_readers() {
  static std::vector<statistics_reader> readers;
  return readers;
}

/// A variable of this type puts a reader on the list.
struct add_statistics_reader {
  explicit add_statistics_reader(statistics_reader reader) { statistics_readers().push_back(reader); }
};

}  // namespace fuzzing
