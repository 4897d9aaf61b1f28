// Which devices several ranks may choose.
#pragma once

#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal {

/// Throws bad_argument when several ranks choose CUDA devices: what GPUs sum is summed within one process.
void check_ranks(const device_choice& choice, const communicator* ranks);

}  // namespace shoal
