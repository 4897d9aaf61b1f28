// Checks of a fit's options, before any row is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include <shoal/gmm/gmm.hpp>

namespace shoal::gmm {

/// Throws bad_argument naming the first option that no data could make valid, or a start model that does not suit data
/// of `columns` columns.
void validate_options(const options& options, std::size_t columns);

/// A hash of the model's type, sizes and every bit of its numbers.
std::uint64_t fingerprint(const model& model);

}  // namespace shoal::gmm
