// Any bytes as the statistics of a mixture.
#include "../fuzz/statistics_readers.hpp"

#include <shoal/gmm/statistics.hpp>

namespace {

const fuzzing::add_statistics_reader added([](const std::string& bytes) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::gmm::write(shoal::gmm::read(bytes, "fuzz")) == bytes, "statistics of a mixture survive");
  });
});

}  // namespace
