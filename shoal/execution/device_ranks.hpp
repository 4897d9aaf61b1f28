// Which devices several ranks may choose, and which rows a rank has on its own.
#pragma once

#include <cstddef>
#include <string>

#include <shoal/execution/communicator.hpp>
#include <shoal/execution/device_choice.hpp>

namespace shoal {

/// Throws bad_argument when each of several ranks chooses more than one CUDA device, or rank 0 only leads them.
void check_ranks(const device_choice& choice, const communicator* ranks);

/// The GPU of a rank.
struct rank_device {
  std::string name;  ///< e.g. "NVIDIA H200"
  std::string uuid;  ///< that no other GPU of any machine has
};

/// Throws bad_argument on every rank when their GPUs are of different kinds, since bits depend on it, or one is that of
/// two ranks, unless they `may_share` it. All ranks call it.
void check_rank_devices(communicator& ranks, const rank_device& own, bool may_share);

/// Rows [first, end) that this rank predicts, of rows of `row_bytes`, when ranks compute on CUDA devices: those of
/// whole shards.
row_range device_rows_of_rank(const communicator* ranks, std::size_t rows, std::size_t row_bytes);

}  // namespace shoal
