// The processes that run one command together, when a launcher started several.
#pragma once

#include <shoal/execution/communicator.hpp>

namespace shoal::app {

/// Null for one process.
communicator* ranks();
/// Said once, before any verb runs.
void set_ranks(communicator* all);

/// Whether this process prints, and writes what is not written in slices: the first of all.
inline bool first_rank() { return speaks(ranks()); }

/// Goes on when all ranks have come here.
void wait_for_all_ranks();

}  // namespace shoal::app
