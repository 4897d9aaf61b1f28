// Walks over the surface of a sponge, layer by layer, in memory for two layers of vertices.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <shoal/geometry/sponge.hpp>

namespace shoal::geometry {

/// Bits along x: whether each cell of a row is in the sponge, or each point of a line is a vertex.
using bit_row = std::vector<std::uint64_t>;

/// The rows of cells along x. Of the digits of y and z a row depends only on where one of them is 1, so that there are
/// 2ⁿ rows and an empty one.
class sponge_rows {
 public:
  explicit sponge_rows(unsigned order)
      : order_(order), words_(cells_along_edge(order) / 64 + 1), rows_((std::size_t{1} << order) + 1) {
    const std::uint64_t cells = cells_along_edge(order);
    for (bit_row& row : rows_) row.resize(words_);
    for (std::size_t pattern = 0; pattern < empty(); ++pattern) {
      for (std::uint64_t x = 0; x < cells; ++x) {
        bool in = true;
        std::uint64_t rest = x;
        for (unsigned level = 0; level < order; ++level, rest /= 3) in &= rest % 3 != 1 || (pattern >> level & 1) == 0;
        if (in) rows_[pattern][x / 64] |= std::uint64_t{1} << x % 64;
      }
    }
    ones_.resize(cells);
    for (std::uint64_t i = 0; i < cells; ++i) {
      std::uint64_t rest = i;
      for (unsigned level = 0; level < order; ++level, rest /= 3) {
        ones_[i] |= static_cast<std::uint32_t>(rest % 3 == 1) << level;
      }
    }
  }

  unsigned order() const { return order_; }
  std::uint64_t cells() const { return ones_.size(); }
  /// Words of a row; there is room for a bit more than there are cells.
  std::size_t words() const { return words_; }

  /// Patterns of rows; the last one is that of the empty row.
  std::size_t patterns() const { return rows_.size(); }
  const std::uint64_t* row(std::size_t pattern) const { return rows_[pattern].data(); }
  /// Of the row at y and z; empty outside the cube, where y or z may be −1 (as the largest number) or 3ⁿ.
  std::size_t pattern(std::uint64_t y, std::uint64_t z) const {
    if (y >= cells() || z >= cells() || (ones_[y] & ones_[z]) != 0) return empty();
    return ones_[y] ^ ones_[z];
  }
  const std::uint64_t* row(std::uint64_t y, std::uint64_t z) const { return row(pattern(y, z)); }

  /// The levels at which the digit of a coordinate is 1, as bits; a number of its own outside the cube.
  std::size_t ones(std::uint64_t coordinate) const { return coordinate < cells() ? ones_[coordinate] : empty(); }

 private:
  std::size_t empty() const { return rows_.size() - 1; }

  unsigned order_;
  std::size_t words_;
  std::vector<bit_row> rows_;        // by the levels at which a digit of y or z is 1
  std::vector<std::uint32_t> ones_;  // the levels at which a coordinate's digit is 1
};

/// Where the planes between cells lie, from 0 to 1.
inline std::vector<float> places_of_planes(std::uint64_t cells) {
  std::vector<float> places(cells + 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(cells));
  }
  return places;
}

/// Calls on(x) for each bit of a word, the lowest of which is `first`.
template <class On>
void for_each_bit(std::uint64_t word, std::size_t first, const On& on) {
  for (; word != 0; word &= word - 1) on(static_cast<std::uint32_t>(first + std::countr_zero(word)));
}

/// The vertices of a plane z (0 to 3ⁿ), row by row. A point is a vertex when some but not all of the eight cells around
/// it are in the sponge. Most rows of a plane are alike, and each kind is looked at once.
class vertex_plane {
 public:
  explicit vertex_plane(const sponge_rows& cells)
      : cells_(&cells), kind_of_pair_(cells.patterns() * cells.patterns()), rows_(cells.cells() + 1) {}

  /// To plane z, whose first vertex has number `first`. Returns the number behind the last one's.
  std::uint32_t move_to(std::uint64_t z, std::uint32_t first = 0) {
    kinds_ = 0;
    std::fill(kind_of_pair_.begin(), kind_of_pair_.end(), none);
    for (std::uint64_t y = 0; y < rows_.size(); ++y) {
      std::uint32_t& kind = kind_of_pair_[cells_->ones(y - 1) * cells_->patterns() + cells_->ones(y)];
      if (kind == none) kind = look_at(y, z);
      rows_[y] = {kind, first};
      first += static_cast<std::uint32_t>(xs(y).size());
    }
    return first;
  }

  std::uint64_t rows() const { return rows_.size(); }
  /// Where the vertices of a row are, ascending.
  std::span<const std::uint32_t> xs(std::uint64_t y) const { return lists_[rows_[y].kind].xs; }
  /// The number of the first vertex of a row, and for the x of each vertex how many of the row come before it.
  std::uint32_t first(std::uint64_t y) const { return rows_[y].first; }
  const std::uint32_t* before(std::uint64_t y) const { return lists_[rows_[y].kind].before.data(); }

  /// Calls on(x, y) for each vertex, row by row.
  template <class On>
  void for_each(const On& on) const {
    for (std::uint64_t y = 0; y < rows(); ++y) {
      for (const std::uint32_t x : xs(y)) on(x, y);
    }
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct row_of_plane {
    std::uint32_t kind = 0;
    std::uint32_t first = 0;
  };
  struct kind_of_row {
    std::vector<std::uint32_t> xs;
    std::vector<std::uint32_t> before;
  };

  std::uint32_t look_at(std::uint64_t y, std::uint64_t z) {
    if (kinds_ == lists_.size()) lists_.emplace_back();
    kind_of_row& made = lists_[kinds_];
    made.xs.clear();
    made.before.resize(rows_.size());
    const std::uint64_t* around[4] = {cells_->row(y - 1, z - 1), cells_->row(y, z - 1), cells_->row(y - 1, z),
                                      cells_->row(y, z)};
    std::uint64_t some_before = 0, all_before = 0;
    for (std::size_t w = 0; w < cells_->words(); ++w) {
      const std::uint64_t some = around[0][w] | around[1][w] | around[2][w] | around[3][w];
      const std::uint64_t all = around[0][w] & around[1][w] & around[2][w] & around[3][w];
      const std::uint64_t mixed = (some | some << 1 | some_before >> 63) & ~(all & (all << 1 | all_before >> 63));
      some_before = some;
      all_before = all;
      for_each_bit(mixed, 64 * w, [&](std::uint32_t x) {
        made.before[x] = static_cast<std::uint32_t>(made.xs.size());
        made.xs.push_back(x);
      });
    }
    return kinds_++;
  }

  const sponge_rows* cells_;
  std::vector<std::uint32_t> kind_of_pair_;  // of the rows of cells below and above
  std::vector<row_of_plane> rows_;
  std::vector<kind_of_row> lists_;
  std::uint32_t kinds_ = 0;
};

/// The faces of a layer of cells, row by row. Which cells of a row have a face depends on its pattern and on that of
/// the row beside it, and each pair is looked at once.
class face_rows {
 public:
  explicit face_rows(const sponge_rows& cells) : cells_(&cells) {
    for (pair_lists& lists : lists_) lists.resize(cells.patterns() * cells.patterns());
  }

  /// Calls on_row(looks, y, xs) for each row of cells of layer z and each direction with the x, ascending, of the cells
  /// whose face in that direction nothing covers, if there are any.
  template <class OnRow>
  void for_each_row(std::uint64_t z, const OnRow& on_row) {
    for (std::uint64_t y = 0; y < cells_->cells(); ++y) {
      const std::size_t own = cells_->pattern(y, z);
      const std::size_t beside[4] = {cells_->pattern(y - 1, z), cells_->pattern(y + 1, z), cells_->pattern(y, z - 1),
                                     cells_->pattern(y, z + 1)};
      for (unsigned looks = 0; looks < 6; ++looks) {
        const std::span<const std::uint32_t> xs = open_faces(looks, own, looks < 2 ? own : beside[looks - 2]);
        if (!xs.empty()) on_row(static_cast<direction>(looks), static_cast<std::uint32_t>(y), xs);
      }
    }
  }

 private:
  struct pair_list {
    bool looked_at = false;
    std::vector<std::uint32_t> xs;
  };
  using pair_lists = std::vector<pair_list>;

  std::span<const std::uint32_t> open_faces(unsigned looks, std::size_t own, std::size_t beside) {
    pair_list& list = lists_[std::min(looks, 2u)][own * cells_->patterns() + beside];
    if (list.looked_at) return list.xs;
    list.looked_at = true;
    const std::uint64_t* const row = cells_->row(own);
    for (std::size_t w = 0; w < cells_->words(); ++w) {
      std::uint64_t covered;
      if (looks == 0) {
        covered = row[w] << 1 | (w > 0 ? row[w - 1] >> 63 : 0);
      } else if (looks == 1) {
        covered = row[w] >> 1 | (w + 1 < cells_->words() ? row[w + 1] << 63 : 0);
      } else {
        covered = cells_->row(beside)[w];
      }
      for_each_bit(row[w] & ~covered, 64 * w, [&](std::uint32_t x) { list.xs.push_back(x); });
    }
    return list.xs;
  }

  const sponge_rows* cells_;
  std::array<pair_lists, 3> lists_;  // backward and forward along x, and across it
};

/// The corners of a face of the cell (x, y, z), counter-clockwise from outside, as steps along x, y and z.
inline constexpr std::uint8_t face_corners[6][4][3] = {
    {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0}}, {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}},
    {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}}, {{0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}},
    {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}}, {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}};

/// The numbers of the corners of a row's faces. Two numbers are added and stored as one word of 64 bits, the first of
/// them in its lower half.
struct corner_numbers {
  std::array<const std::uint32_t*, 4> before;
  std::array<std::uint64_t, 2> first;

  /// Of the face of cell x.
  std::array<std::uint64_t, 2> at(std::uint32_t x) const {
    return {first[0] + (before[0][x] | std::uint64_t{before[1][x]} << 32),
            first[1] + (before[2][x] | std::uint64_t{before[3][x]} << 32)};
  }
};

/// Numbers the vertices plane by plane and row by row, for the two planes below and above the layer that it stands at.
class vertex_numbers {
 public:
  explicit vertex_numbers(const sponge_rows& cells) : below_(cells), above_(cells), next_(above_.move_to(0)) {}

  /// To layer z, one after another from 0.
  void climb(std::uint64_t z) {
    std::swap(below_, above_);
    next_ = above_.move_to(z + 1, next_);
  }

  /// The vertices of the faces of one row of that layer.
  corner_numbers corners(direction looks, std::uint32_t y) const {
    corner_numbers corners{};
    for (unsigned corner = 0; corner < 4; ++corner) {
      const std::uint8_t* step = face_corners[static_cast<unsigned>(looks)][corner];
      const vertex_plane& plane = step[2] == 0 ? below_ : above_;
      corners.before[corner] = plane.before(y + step[1]) + step[0];
      corners.first[corner / 2] += std::uint64_t{plane.first(y + step[1])} << 32 * (corner % 2);
    }
    return corners;
  }

 private:
  vertex_plane below_;
  vertex_plane above_;
  std::uint32_t next_ = 0;
};

}  // namespace shoal::geometry
