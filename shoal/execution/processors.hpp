// How many processors this process can use at the same time.
#pragma once

#include <cstddef>
#include <string>

namespace shoal {

/// Processors that the process may run on, and no more than its control groups grant it; at least 1.
std::size_t usable_processors();

/// The processor time that control groups grant this process, in processors, rounded up: the least along the way from
/// its own group to the topmost that it sees, of both versions. 0 where nothing limits it. Files of the system are
/// looked for below `root`.
std::size_t granted_processors(const std::string& root = "");

}  // namespace shoal
