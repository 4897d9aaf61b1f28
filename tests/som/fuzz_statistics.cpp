// Any bytes as the statistics of a map. What is read must be written as it was.
#include "../fuzz/model_readers.hpp"

#include <shoal/som/statistics.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view bytes, const std::string&) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::som::write(shoal::som::read(bytes, "fuzz")) == bytes, "statistics of a map survive");
  });
});

}  // namespace
