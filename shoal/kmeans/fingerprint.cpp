#include <shoal/kmeans/fingerprint.hpp>

#include <shoal/core/word_hash.hpp>

namespace shoal::kmeans {

std::uint64_t fingerprint(const model& model) {
  word_hash hash;
  hash.take(std::uint64_t{model.clusters});
  hash.take(std::uint64_t{model.columns});
  for (const double value : model.centroids) hash.take(value);
  return hash.value();
}

}  // namespace shoal::kmeans
