// Which rows of tens of columns are folded in one pass, and in which tiles.
#include <shoal/som/cuda/fold_longer_rows.hpp>

#include <algorithm>
#include <cstdint>

namespace shoal::som {
namespace {

constexpr std::size_t blocks_at_a_time = 2;  // of a multiprocessor
constexpr std::size_t kept_bytes = 2048;     // of shared memory for each block's own and the system's
// From so many rows on others of up to 64 units are added by label. An epoch of 10⁴ × 64 on 10 units takes 0.029 ms on
// an H200 instead of 0.051; fewer were not measured.
constexpr std::size_t least_longer_rows = 8192;
constexpr int least_tile = 32, most_tile = 2048, tile_step = 32;
// From so many rows on no term of a sum reaches 2⁵¹ in its unit (run_sums).
constexpr double least_plain_weight = 4096;

}  // namespace

int longer_tile_rows(const searched_rows<float>& rows, const device_units<float>& units, const fixed_sums& sums,
                     std::size_t multiprocessors, std::size_t shared_bytes) {
  const auto count = static_cast<std::size_t>(rows.count);
  if (units.metric != metric::euclidean || rows.weights != nullptr || sums.total_weight < least_plain_weight ||
      units.columns > most_longer_columns || units.units > most_units_of_longer || count < least_longer_rows ||
      reinterpret_cast<std::uintptr_t>(rows.rows) % 16 != 0) {
    return 0;
  }
  const std::size_t most_bytes = shared_bytes / blocks_at_a_time - kept_bytes;
  int most = most_tile;
  while (most >= least_tile && longer_layout{units.units, units.columns, most}.bytes() > most_bytes) most -= tile_step;
  if (most < least_tile) return 0;
  // All blocks end together, after as few tiles as can be.
  const std::size_t blocks = blocks_at_a_time * multiprocessors;
  const std::size_t turns =
      (count + blocks * static_cast<std::size_t>(most) - 1) / (blocks * static_cast<std::size_t>(most));
  const std::size_t each = (count + blocks * turns - 1) / (blocks * turns);
  const auto rounded = static_cast<int>((each + tile_step - 1) / tile_step * tile_step);
  return std::clamp(rounded, least_tile, most);
}

}  // namespace shoal::som
