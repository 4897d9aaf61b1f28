// Any bytes as .fvecs files.
#include "refusal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzzing::read_in_every_way("fuzz.fvecs", data, size);
  return 0;
}
