// Checks of a fit's options, before any row is read.
#pragma once

#include <cstddef>
#include <string_view>

#include <shoal/gmm/options.hpp>

namespace shoal::gmm {

/// Throws bad_argument naming the first option that no data could make valid, or a start model that does not suit data
/// of `columns` columns.
void validate_options(const options& options, std::size_t columns);

/// The words for them: "batch", "squarem". Throws bad_argument for a value that is none.
std::string_view name_of(algorithm algorithm);
std::string_view name_of(acceleration acceleration);

}  // namespace shoal::gmm
