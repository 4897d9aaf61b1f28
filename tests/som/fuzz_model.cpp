// Any bytes as a map.
#include "../fuzz/model_readers.hpp"

#include <shoal/som/model_file.hpp>

namespace {

const fuzzing::add_model_reader added([](std::string_view, const std::string& path) {
  fuzzing::succeeds(path, [&] {
    const shoal::som::model read = shoal::som::load_model(path);
    fuzzing::require(read.codebook.size() == read.units() * read.columns && read.units() > 0, "maps are whole");
  });
});

}  // namespace
