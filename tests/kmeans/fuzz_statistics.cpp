// Any bytes as the statistics of centroids. What is read must be written as it was.
#include "../fuzz/model_readers.hpp"

#include <shoal/kmeans/statistics.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view bytes, const std::string&) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::kmeans::write(shoal::kmeans::read(bytes, "fuzz")) == bytes,
                     "statistics of centroids survive");
  });
});

}  // namespace
