// Any bytes as the statistics of a mixture. What is read must be written as it was.
#include "../fuzz/model_readers.hpp"

#include <shoal/gmm/statistics.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view bytes, const std::string&) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::gmm::write(shoal::gmm::read(bytes, "fuzz")) == bytes, "statistics of a mixture survive");
  });
});

}  // namespace
