// Where a fit is, told by the rank that has its checkpoint.
#pragma once

#include <optional>

#include <shoal/execution/communicator.hpp>
#include <shoal/io/checkpoint.hpp>

namespace shoal {

/// What rank 0 has found, on all ranks. All ranks call it.
std::optional<checkpoint> shared_place(communicator* ranks, std::optional<checkpoint> found);

}  // namespace shoal
