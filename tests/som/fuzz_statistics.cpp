// Any bytes as the statistics of a map.
#include "../fuzz/statistics_readers.hpp"

#include <shoal/som/statistics.hpp>

namespace {

const fuzzing::add_statistics_reader added([](const std::string& bytes) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::som::write(shoal::som::read(bytes, "fuzz")) == bytes, "statistics of a map survive");
  });
});

}  // namespace
