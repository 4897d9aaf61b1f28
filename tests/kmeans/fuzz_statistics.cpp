// Any bytes as the statistics of k-means.
#include "../fuzz/statistics_readers.hpp"

#include <shoal/kmeans/statistics.hpp>

namespace {

const fuzzing::add_statistics_reader added([](const std::string& bytes) {
  fuzzing::succeeds("fuzz", [&] {
    fuzzing::require(shoal::kmeans::write(shoal::kmeans::read(bytes, "fuzz")) == bytes,
                     "statistics of k-means survive");
  });
});

}  // namespace
