// What the auction launches on a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace shoal::assignment::cuda {

/// A row's bid: the column it wants, by how much that column's potential falls, to what, and who has it now.
struct bid {
  double fall = 0;
  double potential = 0;
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::uint32_t owner = 0;
};

inline constexpr std::uint32_t nobody = 0xffffffffu;

/// How a run of rounds ended, and how many it took.
struct auction_progress {
  unsigned long long bids = 0;
  std::uint32_t waiting = 0;
  std::uint32_t rounds = 0;
  std::uint32_t stuck = 0;  ///< a row has no allowed pair
};

/// Memory of the device that one auction works on; n rows and columns.
struct auction_state {
  const double* costs = nullptr;            ///< [n][n]
  double* potentials = nullptr;             ///< [n]
  std::uint32_t* owners = nullptr;          ///< [n]
  std::uint32_t* waiting = nullptr;         ///< [2][n] rows without a column, of this round and of the next
  std::uint32_t* waiting_count = nullptr;   ///< [2]
  bid* bids = nullptr;                      ///< [2][n]
  unsigned long long* best_fall = nullptr;  ///< [n] zero between rounds
  std::uint32_t* best_row = nullptr;        ///< [n] nobody between rounds
  auction_progress* progress = nullptr;
  std::uint32_t n = 0;
};

struct cost_range {
  double least = 0;
  double most = 0;
  std::uint32_t whole = 0;  ///< all allowed costs are whole numbers
  std::uint32_t valid = 0;  ///< all costs are at most `most` in size, or +∞
};

/// Rounds of bids by one step, which may be zero, from `waiting_count`[0] rows, until at most `enough` rows wait,
/// `most_bids` or `most_rounds` are used up or a row is stuck. All rows that wait bid at once by the same potentials;
/// the greatest fall wins a column, of equal ones the first row's, so that the outcome depends on nothing else.
void run_rounds(const auction_state& state, double step, double spread, std::uint32_t enough,
                unsigned long long most_bids, std::uint32_t most_rounds, std::size_t multiprocessors,
                cudaStream_t stream);

/// How searches ended.
struct path_progress {
  unsigned long long steps = 0;  ///< rows that were looked at
  std::uint32_t done = 0;        ///< searches that found a path: less than asked where costs are infeasible
};

/// Memory of the device that searches work on.
struct path_state {
  const double* costs = nullptr;           ///< [n][n]
  double* potentials = nullptr;            ///< [n]
  std::uint32_t* owners = nullptr;         ///< [n] by column
  std::uint32_t* column_of_row = nullptr;  ///< [n]
  const std::uint32_t* rows = nullptr;     ///< [count] rows without a column
  path_progress* progress = nullptr;
  unsigned long long most_steps = 0;  ///< no search begins behind so many
  std::uint32_t count = 0;
  std::uint32_t n = 0;
};

/// Whether the current device has clusters of blocks (compute capability 9.0), with shared memory for so many columns.
bool can_augment(std::size_t n);

/// Gives each of the rows a column along a shortest path of reduced costs. No assigned row may have a nearer column
/// than its own. Only where can_augment(n).
void augment(const path_state& state, cudaStream_t stream);

/// Every row waits, and no column has an owner.
void begin_phase(const auction_state& state, cudaStream_t stream);

/// One part for each block of `blocks`.
void find_range(const double* costs, std::size_t count, double most, cost_range* parts, std::size_t blocks,
                cudaStream_t stream);

}  // namespace shoal::assignment::cuda
