// Which rows of few columns are folded in one pass, and in which tiles.
#include <shoal/som/cuda/fold_short_rows.hpp>

#include <cstddef>
#include <cstdint>

#include <shoal/som/cuda/fold_tile.hpp>

namespace shoal::som {
namespace {

constexpr std::size_t least_folded_rows = 32768;
constexpr int least_tile = 256, most_tile = 4096;

}  // namespace

template <class Scalar>
int folded_tile_rows(const searched_rows<Scalar>& rows, const device_units<Scalar>& units, const fixed_sums& sums,
                     std::size_t multiprocessors, std::size_t shared_bytes) {
  const auto count = static_cast<std::size_t>(rows.count);
  if (units.metric != metric::euclidean || rows.weights != nullptr || sums.total_weight < least_folded_weight ||
      units.columns > most_folded_columns<Scalar> || units.units > most_folded_units<Scalar>(units.columns) ||
      count < least_folded_rows || reinterpret_cast<std::uintptr_t>(rows.rows) % 16 != 0) {
    return 0;
  }
  const std::size_t most_bytes = fold_bytes(shared_bytes);
  int most = most_tile;
  while (most >= least_tile && fold_layout{units.units, units.columns, most, sizeof(Scalar)}.bytes() > most_bytes) {
    most -= fold_tile_step;
  }
  if (most < least_tile) return 0;
  // Threads search so many rows at a time, whether they are there or not.
  const int turn = fold_threads * folded_together(units.columns);
  if (most > turn) most = most / turn * turn;
  return even_tile_rows(count, multiprocessors, least_tile, most);
}
template int folded_tile_rows(const searched_rows<float>&, const device_units<float>&, const fixed_sums&, std::size_t,
                              std::size_t);
template int folded_tile_rows(const searched_rows<double>&, const device_units<double>&, const fixed_sums&, std::size_t,
                              std::size_t);

}  // namespace shoal::som
