// Ranks that are threads of one process: for tests, and as the plainest form of a communicator.
#pragma once

#include <cstddef>
#include <functional>

#include <shoal/execution/communicator.hpp>

namespace shoal {

/// Runs `work` on so many ranks at once, the calling thread being rank 0, and returns when all have ended. When one
/// throws, the others' calls of the communicator throw rank_failed with its number and message, and what it threw is
/// rethrown here. A rank that ends while another waits for it has failed, too. Rank 0 of `led` ranks folds nothing.
void run_ranks(std::size_t ranks, const std::function<void(communicator&)>& work, bool led = false);

}  // namespace shoal
