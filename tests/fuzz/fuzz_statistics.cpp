// Any bytes as the statistics of every family, as they are and with the checksum that they need. What is read must be
// written as it was.
#include <cstring>

#include "statistics_readers.hpp"

#include <shoal/core/word_hash.hpp>

namespace {

std::string with_checksum(std::string bytes) {
  bytes.resize(bytes.size() / 8 * 8);
  if (bytes.size() < 8) return bytes;
  shoal::word_hash hash;
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    hash.take(word);
  }
  const std::uint64_t sum = hash.value();
  std::memcpy(bytes.data() + bytes.size() - 8, &sum, 8);
  return bytes;
}

void read_as_all(const std::string& bytes) {
  for (const fuzzing::statistics_reader read : fuzzing::statistics_readers()) read(bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  read_as_all(bytes);
  read_as_all(with_checksum(bytes));
  return 0;
}
