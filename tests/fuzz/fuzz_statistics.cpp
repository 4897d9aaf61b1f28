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

}  // namespace

// As they are they have no right checksum but by chance, and every family looks at that in the same way: one, which the
// bytes choose, is enough.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto& readers = fuzzing::statistics_readers();
  readers[fuzzing::number_of(data, size) % readers.size()](bytes);
  const std::string summed = with_checksum(bytes);
  for (const fuzzing::statistics_reader read : readers) read(summed);
  return 0;
}
