#include <shoal/som/fingerprint.hpp>

#include <shoal/core/word_hash.hpp>

namespace shoal::som {

std::uint64_t fingerprint(const model& model) {
  word_hash hash;
  for (const std::size_t size : {model.width, model.height, model.columns}) hash.take(std::uint64_t{size});
  hash.take(static_cast<std::uint64_t>(model.lattice));
  hash.take(std::uint64_t{model.toroidal});
  hash.take(static_cast<std::uint64_t>(model.metric));
  for (const double value : model.codebook) hash.take(value);
  return hash.value();
}

}  // namespace shoal::som
