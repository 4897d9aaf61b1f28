// Hashes that were kept for each kind of hardware, in kept.json: how they are compared and written.
#pragma once

#include <string>
#include <vector>

#include "fits.hpp"

namespace bits {

/// What names the set: the hardware that a fit there says computed it.
std::string hardware_of(const place& place);

/// Why there is nothing to compare with on this hardware; empty when hashes of it are kept or are about to be written.
std::string nothing_kept(const std::string& hardware);

/// Runs the fits and compares their hashes with those that are kept of the hardware: a failure for each that differs,
/// by name. With SHOAL_WRITE_BITS it writes them instead, into the file of that name, next to the sets that are in that
/// file or, where there is no such file, in kept.json.
void compare_or_write(const std::string& hardware, const std::vector<kept_fit>& fits, const place& place);

}  // namespace bits
