#include <shoal/gmm/fingerprint.hpp>

#include <shoal/core/word_hash.hpp>

namespace shoal::gmm {

std::uint64_t fingerprint(const model& model) {
  word_hash hash;
  hash.take(static_cast<std::uint64_t>(model.covariance_type));
  hash.take(std::uint64_t{model.components});
  hash.take(std::uint64_t{model.columns});
  for (const auto* part : {&model.weights, &model.means, &model.covariances}) {
    for (const double value : *part) hash.take(value);
  }
  return hash.value();
}

}  // namespace shoal::gmm
