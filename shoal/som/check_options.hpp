// What is asked of options before any row is read.
#pragma once

#include <cstddef>

#include <shoal/som/options.hpp>

namespace shoal::som {

/// Throws bad_argument, naming the option.
void check_options(const options& options);
void check_options(const update_options& options);

/// Throws bad_argument for a first codebook that is not [units][columns] or not finite.
void check_codebook(const options& options, std::size_t columns);

}  // namespace shoal::som
