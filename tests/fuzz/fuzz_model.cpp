// Any bytes as a model file. What is read must also be written and read again, bit for bit.
#include <fmt/format.h>

#include "refusal.hpp"

#include <shoal/gmm/model_text.hpp>
#include <shoal/kmeans/model_file.hpp>
#include <shoal/som/model_file.hpp>

namespace {

void as_mixture(std::string_view text) {
  fuzzing::succeeds("fuzz.json", [&] {
    const shoal::gmm::model first = shoal::gmm::parse_model("fuzz.json", text);
    const shoal::gmm::model second = shoal::gmm::parse_model("again", shoal::gmm::format_model(first));
    fuzzing::require(first.weights == second.weights && first.means == second.means &&
                         first.covariances == second.covariances && first.column_names == second.column_names &&
                         first.covariance_type == second.covariance_type,
                     "a mixture survives its file");
  });
}

void as_centroids_and_map(std::string_view text) {
  const shoal::file_handle memory(::memfd_create("fuzz", MFD_CLOEXEC));
  const std::string path = fmt::format("/proc/self/fd/{}", memory.descriptor());
  fuzzing::require(::pwrite(memory.descriptor(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
                   "memfd takes the input");
  fuzzing::succeeds(path, [&] {
    const shoal::kmeans::model read = shoal::kmeans::load_model(path);
    fuzzing::require(read.centroids.size() == read.clusters * read.columns && read.clusters > 0, "centroids are whole");
  });
  fuzzing::succeeds(path, [&] {
    const shoal::som::model read = shoal::som::load_model(path);
    fuzzing::require(read.codebook.size() == read.units() * read.columns && read.units() > 0, "maps are whole");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  as_mixture(text);
  as_centroids_and_map(text);
  return 0;
}
