#include <shoal/gmm/fingerprint.hpp>

#include <bit>

namespace shoal::gmm {

std::uint64_t fingerprint(const model& model) {
  constexpr std::uint64_t prime = 0x100000001b3u;  // FNV-1a over 64-bit words
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto take = [&](std::uint64_t word) {
    hash = (hash ^ word) * prime;
    hash ^= hash >> 32;
  };
  take(static_cast<std::uint64_t>(model.covariance_type));
  take(model.components);
  take(model.columns);
  for (const auto* part : {&model.weights, &model.means, &model.covariances}) {
    for (const double value : *part) take(std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace shoal::gmm
