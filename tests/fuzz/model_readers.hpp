// The readers of model files that fuzz_model gives its inputs to: each family has one in tests/NAME/fuzz_model.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "refusal.hpp"

namespace fuzzing {

/// Reads an input as a model; `path` names a file with the same bytes.
using model_reader = void (*)(std::string_view text, const std::string& path);

inline std::vector<model_reader>& model_readers() {
  static std::vector<model_reader> readers;
  return readers;
}

/// A variable of this type puts a reader on the list.
struct add_model_reader {
  explicit add_model_reader(model_reader reader) { model_readers().push_back(reader); }
};

}  // namespace fuzzing
