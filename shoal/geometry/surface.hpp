// Walks over the surface of a sponge, layer by layer, in memory for two layers of vertices.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
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
      : order_(order), words_(cells_along_edge(order) / 64 + 1), empty_(words_), rows_(std::size_t{1} << order) {
    const std::uint64_t cells = cells_along_edge(order);
    for (std::size_t pattern = 0; pattern < rows_.size(); ++pattern) {
      rows_[pattern].resize(words_);
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

  /// The row at y and z; empty outside the cube, where y or z may be −1 (as the largest number) or 3ⁿ.
  const std::uint64_t* row(std::uint64_t y, std::uint64_t z) const {
    if (y >= cells() || z >= cells() || (ones_[y] & ones_[z]) != 0) return empty_.data();
    return rows_[ones_[y] ^ ones_[z]].data();
  }

 private:
  unsigned order_;
  std::size_t words_;
  bit_row empty_;
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

/// Calls on_row(y, each) for each row of vertices of the plane z (0 to 3ⁿ), in order; each(on) calls on(x) for those of
/// the row. A point is a vertex when some but not all of the eight cells around it are in the sponge.
template <class OnRow>
void for_each_vertex_row(const sponge_rows& cells, std::uint64_t z, const OnRow& on_row) {
  for (std::uint64_t y = 0; y <= cells.cells(); ++y) {
    const std::uint64_t* around[4] = {cells.row(y - 1, z - 1), cells.row(y, z - 1), cells.row(y - 1, z),
                                      cells.row(y, z)};
    on_row(static_cast<std::uint32_t>(y), [&](const auto& on) {
      std::uint64_t some_before = 0, all_before = 0;
      for (std::size_t w = 0; w < cells.words(); ++w) {
        const std::uint64_t some = around[0][w] | around[1][w] | around[2][w] | around[3][w];
        const std::uint64_t all = around[0][w] & around[1][w] & around[2][w] & around[3][w];
        const std::uint64_t mixed = (some | some << 1 | some_before >> 63) & ~(all & (all << 1 | all_before >> 63));
        some_before = some;
        all_before = all;
        for_each_bit(mixed, 64 * w, on);
      }
    });
  }
}

/// Calls on(x, y) for each vertex of the plane z.
template <class On>
void for_each_vertex(const sponge_rows& cells, std::uint64_t z, const On& on) {
  for_each_vertex_row(cells, z, [&](std::uint32_t y, const auto& each) { each([&](std::uint32_t x) { on(x, y); }); });
}

/// Calls on_row(looks, y, each) for each row of cells of layer z and each direction; each(on) calls on(x) for the cells
/// whose face in that direction nothing covers.
template <class OnRow>
void for_each_face_row(const sponge_rows& cells, std::uint64_t z, const OnRow& on_row) {
  for (std::uint64_t y = 0; y < cells.cells(); ++y) {
    const std::uint64_t* own = cells.row(y, z);
    const std::uint64_t* beside[4] = {cells.row(y - 1, z), cells.row(y + 1, z), cells.row(y, z - 1),
                                      cells.row(y, z + 1)};
    for (unsigned looks = 0; looks < 6; ++looks) {
      on_row(static_cast<direction>(looks), static_cast<std::uint32_t>(y), [&](const auto& on) {
        for (std::size_t w = 0; w < cells.words(); ++w) {
          std::uint64_t covered;
          if (looks == 0) {
            covered = own[w] << 1 | (w > 0 ? own[w - 1] >> 63 : 0);
          } else if (looks == 1) {
            covered = own[w] >> 1 | (w + 1 < cells.words() ? own[w + 1] << 63 : 0);
          } else {
            covered = beside[looks - 2][w];
          }
          for_each_bit(own[w] & ~covered, 64 * w, on);
        }
      });
    }
  }
}

/// The corners of a face of the cell (x, y, z), counter-clockwise from outside, as steps along x, y and z.
inline constexpr std::uint8_t face_corners[6][4][3] = {
    {{0, 0, 0}, {0, 0, 1}, {0, 1, 1}, {0, 1, 0}}, {{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 0, 1}},
    {{0, 0, 0}, {1, 0, 0}, {1, 0, 1}, {0, 0, 1}}, {{0, 1, 0}, {0, 1, 1}, {1, 1, 1}, {1, 1, 0}},
    {{0, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, 0, 0}}, {{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}}};

/// Numbers the vertices plane by plane, in the order of for_each_vertex(), and keeps the numbers of two planes: those
/// below and above the layer that it stands at.
class vertex_numbers {
 public:
  explicit vertex_numbers(const sponge_rows& cells)
      : cells_(&cells), line_(cells.cells() + 1), below_(line_ * line_), above_(line_ * line_) {
    number(0, above_);
  }

  /// To layer z, one after another from 0.
  void climb(std::uint64_t z) {
    std::swap(below_, above_);
    number(z + 1, above_);
  }

  /// The vertices of the faces of one row of that layer: those of cell x are corners[0][x] to corners[3][x].
  std::array<const std::uint32_t*, 4> corners(direction looks, std::uint32_t y) const {
    std::array<const std::uint32_t*, 4> corners;
    for (unsigned corner = 0; corner < 4; ++corner) {
      const std::uint8_t* step = face_corners[static_cast<unsigned>(looks)][corner];
      corners[corner] = (step[2] == 0 ? below_ : above_).data() + (y + step[1]) * line_ + step[0];
    }
    return corners;
  }

 private:
  void number(std::uint64_t z, std::vector<std::uint32_t>& plane) {
    std::uint32_t next = next_;
    for_each_vertex_row(*cells_, z, [&](std::uint32_t y, const auto& each) {
      std::uint32_t* const row = &plane[y * line_];
      each([&](std::uint32_t x) { row[x] = next++; });
    });
    next_ = next;
  }

  const sponge_rows* cells_;
  std::size_t line_;
  std::uint32_t next_ = 0;
  std::vector<std::uint32_t> below_;
  std::vector<std::uint32_t> above_;
};

}  // namespace shoal::geometry
