// Any bytes as centroids.
#include "../fuzz/model_readers.hpp"

#include <shoal/kmeans/model_file.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view, const std::string& path) {
  fuzzing::succeeds(path, [&] {
    const shoal::kmeans::model read = shoal::kmeans::load_model(path);
    fuzzing::require(read.centroids.size() == read.clusters * read.columns && read.clusters > 0, "centroids are whole");
  });
});

}  // namespace
