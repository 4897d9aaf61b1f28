// Which mixture it is, by every bit of it.
#pragma once

#include <cstdint>

#include <shoal/gmm/model.hpp>

namespace shoal::gmm {

/// A hash of the model's type, sizes and every bit of its numbers.
std::uint64_t fingerprint(const model& model);

}  // namespace shoal::gmm
