// Which rows of tens of columns are folded in one pass, and in which tiles.
#include <shoal/som/cuda/fold_longer_rows.hpp>

#include <cstddef>
#include <cstdint>

#include <shoal/som/cuda/fold_tile.hpp>

namespace shoal::som {
namespace {

// From so many rows on others of up to 64 units are added by label. An epoch of 10⁴ × 64 on 10 units takes 0.029 ms on
// an H200 instead of 0.051; fewer were not measured.
constexpr std::size_t least_longer_rows = 8192;
constexpr int least_tile = 32, most_tile = 2048;

}  // namespace

int longer_tile_rows(const searched_rows<float>& rows, const device_units<float>& units, const fixed_sums& sums,
                     std::size_t multiprocessors, std::size_t shared_bytes) {
  const auto count = static_cast<std::size_t>(rows.count);
  if (units.metric != metric::euclidean || rows.weights != nullptr || sums.total_weight < least_folded_weight ||
      units.columns > most_longer_columns || units.units > most_units_of_longer || count < least_longer_rows ||
      reinterpret_cast<std::uintptr_t>(rows.rows) % 16 != 0) {
    return 0;
  }
  const std::size_t most_bytes = fold_bytes(shared_bytes);
  int most = most_tile;
  while (most >= least_tile && longer_layout{units.units, units.columns, most}.bytes() > most_bytes)
    most -= fold_tile_step;
  if (most < least_tile) return 0;
  return even_tile_rows(count, multiprocessors, least_tile, most);
}

}  // namespace shoal::som
