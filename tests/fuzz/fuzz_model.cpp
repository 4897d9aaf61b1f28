// Any bytes as a model file, of every family.
#include <fmt/format.h>

#include "model_readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::string path =
      fmt::format("/proc/self/fd/{}", fuzzing::input_in_memory::holding(data, 0).descriptor());
  fuzzing::input_in_memory::holding(data, size);
  for (const fuzzing::model_reader read : fuzzing::model_readers()) read(text, path);
  return 0;
}
