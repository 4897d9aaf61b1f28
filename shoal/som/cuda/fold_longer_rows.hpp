// Float32 rows of tens of columns beside few units: what they add to the statistics, in one pass over memory.
#pragma once

#include <cstddef>

#include <shoal/core/host_device.hpp>
#include <shoal/som/cuda/kernels.hpp>

namespace shoal::som {

/// Columns that there are kernels for: a warp measures a row in one part (distance_columns()).
inline constexpr int most_longer_columns = 128;
static_assert(distance_columns(most_longer_columns) == most_longer_columns);

/// Up to so many units one pass takes less time than separate ones. Epochs of 300,000 rows on an H200 folded and not,
/// in ms: 128 columns on 10 units 0.185 and 0.299, on 20 0.263 and 0.302; 64 on 16 0.126 and 0.175, on 33 0.181 and
/// 0.179; 40 on 64 0.243 and 0.146.
inline constexpr int most_units_of_longer = 20;

/// How a block cuts its shared memory, in bytes: rows of a tile, units as the search reads them and as they are, their
/// scores' beginnings, the centre, sums in four words each, squared distances, rows of each unit, and the tile's rows
/// in two orders.
struct longer_layout {
  int units, columns, tile_rows;

  /// Columns in groups of 32, of which a thread of the search has four: one word of 16 bytes of a unit.
  SHOAL_HD constexpr int slots() const { return (columns + 31) / 32; }
  /// Numbers of a unit that rows are measured from: odd, so that threads which read different ones use different banks.
  SHOAL_HD constexpr int exact_numbers() const { return columns | 1; }
  SHOAL_HD constexpr std::size_t searched() const {
    return (static_cast<std::size_t>(tile_rows * columns) * sizeof(float) + 15) / 16 * 16;
  }
  SHOAL_HD constexpr std::size_t exact() const {
    return searched() + static_cast<std::size_t>(units * 32 * slots()) * sizeof(float);
  }
  SHOAL_HD constexpr std::size_t squares() const {
    return exact() + static_cast<std::size_t>(units * exact_numbers()) * sizeof(double);
  }
  SHOAL_HD constexpr std::size_t starts() const {
    return squares() + static_cast<std::size_t>(tile_rows) * sizeof(double);
  }
  SHOAL_HD constexpr std::size_t centre() const { return starts() + static_cast<std::size_t>(units) * sizeof(float); }
  SHOAL_HD constexpr std::size_t sums() const {
    return centre() + static_cast<std::size_t>(32 * slots()) * sizeof(float);
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

/// Rows of a tile of fold_longer_rows(); 0: the other ways are better, or it has not the memory.
int longer_tile_rows(const searched_rows<float>& rows, const device_units<float>& units, const fixed_sums& sums,
                     std::size_t multiprocessors, std::size_t shared_bytes);

/// As fold_short_rows(). Needs units.turned and units.starts.
void fold_longer_rows(int tile_rows, const searched_rows<float>& rows, const device_units<float>& units,
                      const fixed_sums& sums, std::size_t multiprocessors, cudaStream_t stream);

}  // namespace shoal::som
