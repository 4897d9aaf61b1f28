// Any bytes as a checkpoint: as they are, and as a body with the head and the checksum that belong to it. What is read
// must be written as it was.
#include <fmt/format.h>

#include "own_file.hpp"
#include "refusal.hpp"

#include <shoal/io/checkpoint.hpp>
#include <shoal/io/whole_file.hpp>

namespace {

const shoal::fit_identity identity = {{"target", "2"}, {"seed", "0"}};

const std::string& path() {
  static const fuzzing::own_file made("fuzz_checkpoint");
  return made.path();
}

bool read(const std::string& text) {
  return fuzzing::succeeds(path(), [&] {
    const auto found = shoal::parse_checkpoint(path(), text, identity);
    fuzzing::require(found.has_value() != text.empty(), "an empty file holds nothing yet");
    if (!found) return;
    const std::string once = shoal::format_checkpoint(identity, *found);
    const auto again = shoal::parse_checkpoint(path(), once, identity);
    fuzzing::require(again && shoal::format_checkpoint(identity, *again) == once, "what is read is written as it was");
  });
}

bool read_file(const std::string& text) {
  fuzzing::write_file(path(), text);
  return fuzzing::succeeds(path(), [&] {
    shoal::checkpoint_file file(path(), identity);
    const auto found = file.read();
    fuzzing::require(found.has_value() != text.empty(), "an empty file holds nothing yet");
    if (!found) return;
    file.write(*found);
    const std::string once = shoal::read_whole_file(path(), 1 << 20);
    file.write(file.read().value());
    fuzzing::require(shoal::read_whole_file(path(), 1 << 20) == once, "what is read is written as it was");
  });
}

}  // namespace

// A file of its own, with its locks and renames, takes ten times as long as what is in it, and is the same for all
// contents: one input in 64 is given one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::uint32_t sum = fuzzing::number_of(data, size);
  const std::string whole =
      fmt::format("{{\"format\":\"shoal/checkpoint\",\"version\":2,\"program\":\"shoal " SHOAL_VERSION
                  "\",\"crc32\":{},\"body\":\n{}\n}}\n",
                  sum, text);
  for (const std::string& each : {text, whole}) {
    const bool good = read(each);
    if (sum % 64 == 0) fuzzing::require(read_file(each) == good, "a file is read as its contents are");
  }
  return 0;
}
