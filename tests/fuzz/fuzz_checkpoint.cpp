// Any bytes as a checkpoint: as they are, and as a body with the head and the checksum that belong to it. What is read
// must be written as it was.
#include <zlib.h>

#include <fmt/format.h>

#include "refusal.hpp"

#include <shoal/io/checkpoint.hpp>
#include <shoal/io/whole_file.hpp>

namespace {

const shoal::fit_identity identity = {{"target", "2"}, {"seed", "0"}};

// A name that vanishes with the process.
struct file_name {
  std::string text =
      fmt::format("{}/fuzz_checkpoint_{}", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", ::getpid());
  ~file_name() { ::unlink(text.c_str()); }
};

const std::string& path() {
  static const file_name made;
  return made.text;
}

void write(const std::string& text) {
  std::FILE* const file = std::fopen(path().c_str(), "wb");
  fuzzing::require(file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size(),
                   "a file is written");
  std::fclose(file);
}

void read(const std::string& text) {
  write(text);
  fuzzing::succeeds(path(), [&] {
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read(text);
  const auto sum = crc32_z(0, data, size);
  read(fmt::format("{{\"format\":\"shoal/checkpoint\",\"version\":2,\"program\":\"shoal " SHOAL_VERSION
                   "\",\"crc32\":{},\"body\":\n{}\n}}\n",
                   sum, text));
  return 0;
}
