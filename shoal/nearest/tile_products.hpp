// Products of 8-bit integers by the tile unit of some x86 processors (AMX).
#pragma once

#include <cstddef>
#include <cstdint>

namespace shoal {

/// How centroids of bytes are cut into tiles: `tiles` of `height` centroids, which `steps` tiles of `depth` fours of
/// columns multiply. The last step begins so early that it ends with the last four; what it shares with the one before
/// is zero in the centroids.
struct tile_cut {
  static constexpr std::size_t most = 16;       ///< rows of a tile, and fours of bytes in each of them
  static constexpr std::size_t row_bytes = 64;  ///< from one row of a tile of centroids to the next

  tile_cut() = default;
  tile_cut(std::size_t centroids, std::size_t fours_of_columns);

  std::size_t first_four(std::size_t step) const { return step + 1 == steps ? fours - depth : step * depth; }
  std::size_t tile_bytes() const { return steps * height * row_bytes; }  ///< of `height` centroids

  std::size_t fours = 0;
  std::size_t depth = 0;
  std::size_t steps = 0;
  std::size_t height = 0;
  std::size_t tiles = 0;
};

/// Whether this processor has the unit, and this process may use it. The first call asks the system for leave.
bool has_tile_products();

/// The tile unit of this thread, set to one cut until the end of the scope. Only where has_tile_products().
class tile_unit {
 public:
  explicit tile_unit(const tile_cut& cut);
  ~tile_unit();
  tile_unit(const tile_unit&) = delete;
  tile_unit& operator=(const tile_unit&) = delete;

  /// out[k * 48 + i] = Σ_j centroid_k,j · row_i,j, for one tile of centroids, [steps][height][row_bytes], and the 48
  /// rows of a byte panel, [fours of columns][48 rows]; the centroids have a sign, the rows have none.
  void multiply(const std::int8_t* centroids, const std::int32_t* rows, std::int32_t* out) const;

 private:
  tile_cut cut_;
};

}  // namespace shoal
