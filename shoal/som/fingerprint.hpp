// Which model it is, by every bit of it.
#pragma once

#include <cstdint>

#include <shoal/som/model.hpp>

namespace shoal::som {

/// A hash of the model's shape and every bit of its numbers.
std::uint64_t fingerprint(const model& model);

}  // namespace shoal::som
