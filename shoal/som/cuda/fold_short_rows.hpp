// Rows of few columns beside few units: what they add to the statistics, in one pass over memory.
#pragma once

#include <cstddef>

#include <shoal/core/host_device.hpp>
#include <shoal/som/cuda/fold_tile.hpp>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// Columns that there are kernels for.
template <class Scalar>
inline constexpr int most_folded_columns = sizeof(Scalar) == 4 ? 24 : 16;

/// Up to so many units one pass takes less time than separate ones; a thread of a block has each unit's count. Epochs
/// of 10⁶ float32 rows on an H200 folded and not, in ms: 3 columns on 33 units 0.046 and 0.072, on 100 0.077 and 0.073;
/// 8 on 33 0.074 and 0.108, on 100 0.113 and 0.135, on 256 0.220 and 0.212. Of float64 ones 2 columns on 256 units
/// 0.128 and 0.173, 8 on 64 0.104 and 0.135, on 100 0.152 and 0.153, on 256 0.382 and 0.223.
template <class Scalar>
SHOAL_HD constexpr int most_folded_units(int columns) {
  if (sizeof(Scalar) == 4) return columns <= 4 ? 64 : 128;
  return columns <= 4 ? fold_threads : 100;
}

/// Rows of a thread, which share the units that it loads: eight of 5 columns took as long as four, three of 16 float64
/// columns 0.32 instead of 0.286 ms for 10⁶ rows on 100 units.
SHOAL_HD constexpr int folded_together(int columns) { return columns <= 5 ? 4 : columns <= 8 ? 5 : 2; }

/// How a block cuts its shared memory, in bytes: rows of a tile, units as the search reads them and as they are, sums
/// in four words each, rows of each unit, and the tile's rows in two orders.
struct fold_layout {
  int units, columns, tile_rows;
  std::size_t number_bytes;

  /// Numbers of a pair of units that is searched, whole words of 16 bytes; of a unit that rows are measured from, an
  /// odd number, so that threads which read different ones use different banks.
  SHOAL_HD constexpr int pair_numbers() const { return (2 * (columns + 1) + 3) / 4 * 4; }
  SHOAL_HD constexpr int exact_numbers() const { return columns | 1; }
  SHOAL_HD constexpr int padded() const { return (units + 1) / 2 * 2; }
  SHOAL_HD constexpr std::size_t searched() const {
    return (static_cast<std::size_t>(tile_rows * columns) * number_bytes + 15) / 16 * 16;
  }
  SHOAL_HD constexpr std::size_t exact() const {
    return searched() + static_cast<std::size_t>(padded() / 2 * pair_numbers()) * sizeof(float);
  }
  SHOAL_HD constexpr std::size_t sums() const {
    return exact() + static_cast<std::size_t>(units * exact_numbers()) * sizeof(double);
  }
  SHOAL_HD constexpr std::size_t counts() const {
    return sums() + 4 * static_cast<std::size_t>(units * columns) * sizeof(unsigned);
  }
  SHOAL_HD constexpr std::size_t ranked() const {
    return counts() + static_cast<std::size_t>(units) * sizeof(unsigned);
  }
  SHOAL_HD constexpr std::size_t order() const {
    return ranked() + static_cast<std::size_t>(tile_rows) * sizeof(unsigned);
  }
  SHOAL_HD constexpr std::size_t bytes() const {
    return order() + static_cast<std::size_t>(tile_rows) * sizeof(unsigned);
  }
};

/// Rows of a tile of fold_short_rows(); 0: the other ways are better, or it has not the memory.
template <class Scalar>
int folded_tile_rows(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const fixed_sums& sums,
                     std::size_t multiprocessors, std::size_t shared_bytes);

/// Finds each row's unit as settle() does, by the Euclidean metric, and adds Σ w(x − m), Σ w and Σ w·distance, with the
/// bits of settle() and sum_by_label(). On GPUs that have_tensor_search().
template <class Scalar>
void fold_short_rows(int tile_rows, const searched_rows<Scalar>& rows, const device_units<Scalar>& units,
                     const fixed_sums& sums, std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
