// Any bytes as a model file, of every family.
#include <fmt/format.h>

#include "model_readers.hpp"

#include <shoal/io/file.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const shoal::file_handle memory(::memfd_create("fuzz", MFD_CLOEXEC));
  const std::string path = fmt::format("/proc/self/fd/{}", memory.descriptor());
  fuzzing::require(::pwrite(memory.descriptor(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
                   "memfd takes the input");
  for (const fuzzing::model_reader read : fuzzing::model_readers()) read(text, path);
  return 0;
}
