#include <shoal/estimation/centroid_cells.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/estimation/centroid_cells.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef SHOAL_ESTIMATION_CENTROID_CELLS_ONCE
#define SHOAL_ESTIMATION_CENTROID_CELLS_ONCE
namespace shoal {

// A block of cells, in cells of each axis.
struct cell_block {
  std::array<std::size_t, centroid_cells::most_columns> first;
  std::array<std::size_t, centroid_cells::most_columns> end;
};

// Places are in cells here, from the low corner of the grid. A list is one array for each column, one of numbers, and
// one of scores.
using cell_candidates = std::array<aligned_buffer<double>, centroid_cells::most_columns + 2>;

// Where a list ends there follow places that are farther away than any.
inline constexpr double cell_nowhere = 1e100;
inline constexpr std::size_t cell_padding = 16;

// The points of a block of cells, rows that are counted among them by rounding included.
struct cell_bounds {
  std::array<double, centroid_cells::most_columns> middle;
  std::array<double, centroid_cells::most_columns> down;  // from the middle: at most 0
  std::array<double, centroid_cells::most_columns> up;
  double allowance;  // by how much half the difference of two squared distances may be off
};

}  // namespace shoal
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Copies the candidates that may be nearest to some point within the bounds; returns how many.
//
// With c₀ nearest to the middle m, half the squared distance of a point m + o to c less that to c₀ is
// s(c) − s(c₀) − o·(c − c₀), where s(c) = ‖c‖²/2 − m·c. It is least in a corner.
template <std::size_t Columns>
std::size_t keep_near(cell_candidates& from, std::size_t count, const cell_bounds& bounds, cell_candidates& to) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  double* HWY_RESTRICT const scores = from[Columns + 1].data();
  V least = hn::Set(d, std::numeric_limits<double>::max());
  for (std::size_t i = 0; i < count; i += lanes) {
    V score = hn::Zero(d);
    for (std::size_t j = 0; j < Columns; ++j) {
      const V place = hn::Load(d, from[j].data() + i);
      score = hn::MulAdd(place, hn::MulSub(place, hn::Set(d, 0.5), hn::Set(d, bounds.middle[j])), score);
    }
    least = hn::Min(least, score);
    hn::Store(score, d, scores + i);
  }
  least = hn::MinOfLanes(d, least);
  std::size_t nearest = 0;
  for (std::size_t i = 0; i < count; i += lanes) {
    const auto found = hn::FindFirstTrue(d, hn::Eq(hn::Load(d, scores + i), least));
    if (found < 0) continue;
    nearest = i + static_cast<std::size_t>(found);
    break;
  }
  const V limit = hn::Add(least, hn::Set(d, bounds.allowance));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; i += lanes) {
    V room = hn::Sub(hn::Load(d, scores + i), limit);
    for (std::size_t j = 0; j < Columns; ++j) {
      const V way = hn::Sub(hn::Load(d, from[j].data() + i), hn::Set(d, from[j][nearest]));
      room = hn::Sub(room, hn::Max(hn::Mul(way, hn::Set(d, bounds.up[j])), hn::Mul(way, hn::Set(d, bounds.down[j]))));
    }
    // Highway 1.0 would copy a table of 2 KiB for each Compress of float64.
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Le(room, hn::Zero(d)), bits);
    for (unsigned near = bits[0]; near != 0; near &= near - 1, ++kept) {
      const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(near));
      for (std::size_t j = 0; j <= Columns; ++j) to[j][kept] = from[j][at];
    }
  }
  for (std::size_t j = 0; j < Columns; ++j) hn::StoreU(hn::Set(d, cell_nowhere), d, to[j].data() + kept);
  return kept;
}

}  // namespace

std::size_t keep_near_1(cell_candidates& from, std::size_t count, const cell_bounds& bounds, cell_candidates& to) {
  return keep_near<1>(from, count, bounds, to);
}
std::size_t keep_near_2(cell_candidates& from, std::size_t count, const cell_bounds& bounds, cell_candidates& to) {
  return keep_near<2>(from, count, bounds, to);
}
std::size_t keep_near_3(cell_candidates& from, std::size_t count, const cell_bounds& bounds, cell_candidates& to) {
  return keep_near<3>(from, count, bounds, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal {

HWY_EXPORT(keep_near_1);
HWY_EXPORT(keep_near_2);
HWY_EXPORT(keep_near_3);

namespace {

// Fewer rows or clusters: to compare a row with all centroids costs no more (by cycles of a Zen 4, see worthwhile()).
constexpr std::size_t least_rows = 2048;
constexpr std::size_t least_clusters = 40;

// The finer the cells, the shorter their lists, and the longer it takes to make them: about 200 cycles for each of the
// two or three lists that a cluster needs in two columns.
constexpr std::size_t cells_for_a_cluster = 16;
constexpr std::size_t rows_for_a_cell = 32;
constexpr std::size_t most_cells = std::size_t{1} << 17;
constexpr std::size_t most_cells_of_an_axis = 1024;

// A row's cell is computed with two roundings of at most 2 · most_cells_of_an_axis in float32, 2.5e-4 of a cell.
constexpr double cell_margin = 0x1p-10;

// Beyond these the squares of distances would leave float64's range.
constexpr double smallest_width = 1e-140;
constexpr double largest_place = 1e140;

// Groups in all lists, for each cell: many more where centroids lie in heaps, which need lists longer than the cells
// are worth.
constexpr std::size_t most_groups_for_a_cell = 8;

// Cycles of a Zen 4 that a row takes beside its groups, and for each.
constexpr double cycles_of_a_row = 9;
constexpr double cycles_of_a_group = 4;

}  // namespace

// Divides the grid into halves, and their lists with them, until a list is one group or a block of cells one cell.
struct cell_builder {
  centroid_cells& cells;
  std::span<const double> centroids;
  std::size_t clusters;
  std::size_t columns;
  std::size_t most_groups;

  bool build() {
    cells.groups_ = 0;
    cells.lists_.resize(cells.cells() + 1);
    level(0);
    cell_candidates& all = cells.levels_[0];
    for (auto& part : all) part.grow(clusters + cell_padding);
    for (std::size_t k = 0; k < clusters; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        all[j][k] = (centroids[k * columns + j] - cells.low_[j]) * cells.inverse_;
      }
      all[columns][k] = static_cast<double>(k);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      std::fill_n(all[j].data() + clusters, cell_padding, cell_nowhere);
    }
    cells.lists_.back() = write_list(all, clusters);
    return divide({{0, 0, 0}, cells.counts_}, 0, clusters) && worthwhile();
  }

  cell_candidates& level(std::size_t depth) {
    if (cells.levels_.size() <= depth) cells.levels_.resize(depth + 1);
    return cells.levels_[depth];
  }

  cell_bounds bounds_of(const cell_block& block) const {
    cell_bounds bounds;
    for (std::size_t j = 0; j < columns; ++j) {
      const auto first = static_cast<double>(block.first[j]), end = static_cast<double>(block.end[j]);
      bounds.middle[j] = (first + end) / 2;
      const double half = (end - first) / 2 + cell_margin;
      bounds.down[j] = block.first[j] == 0 ? -half - cells.reach_ : -half;
      bounds.up[j] = block.end[j] == cells.counts_[j] ? half + cells.reach_ : half;
    }
    // No place is farther from another one than two reaches in any column; a dozen roundings of squares of that.
    bounds.allowance = 1e-13 * cells.reach_ * cells.reach_;
    return bounds;
  }

  // False when there are too many groups.
  bool divide(const cell_block& block, std::size_t depth, std::size_t count) {
    cell_candidates& near = level(depth + 1);
    for (auto& part : near) part.grow(count + cell_padding);
    const cell_bounds bounds = bounds_of(block);
    cell_candidates& from = cells.levels_[depth];
    const std::size_t kept = columns == 1   ? HWY_DYNAMIC_DISPATCH(keep_near_1)(from, count, bounds, near)
                             : columns == 2 ? HWY_DYNAMIC_DISPATCH(keep_near_2)(from, count, bounds, near)
                                            : HWY_DYNAMIC_DISPATCH(keep_near_3)(from, count, bounds, near);
    std::size_t longest = 0;
    for (std::size_t j = 1; j < columns; ++j) {
      if (block.end[j] - block.first[j] > block.end[longest] - block.first[longest]) longest = j;
    }
    const std::size_t length = block.end[longest] - block.first[longest];
    if (kept <= centroid_cells::group || length == 1) {
      fill(block, write_list(cells.levels_[depth + 1], kept));
      return cells.groups_ <= most_groups;
    }
    cell_block low = block, high = block;
    low.end[longest] = high.first[longest] = block.first[longest] + length / 2;
    return divide(low, depth + 1, kept) && divide(high, depth + 1, kept);
  }

  void fill(const cell_block& block, centroid_cells::list list) {
    for (std::size_t z = block.first[2]; z < block.end[2]; ++z) {
      for (std::size_t y = block.first[1]; y < block.end[1]; ++y) {
        const auto line =
            cells.lists_.begin() + static_cast<std::ptrdiff_t>((z * cells.counts_[1] + y) * cells.counts_[0]);
        std::fill(line + static_cast<std::ptrdiff_t>(block.first[0]), line + static_cast<std::ptrdiff_t>(block.end[0]),
                  list);
      }
    }
  }

  centroid_cells::list write_list(const cell_candidates& candidates, std::size_t count) {
    constexpr std::size_t group = centroid_cells::group;
    const std::size_t groups = (count + group - 1) / group;
    const std::size_t first = cells.groups_;
    cells.groups_ += groups;
    grow(cells.places_, first * columns * group, cells.groups_ * columns * group);
    grow(cells.numbers_, first * group, cells.groups_ * group);
    double* place = cells.places_.data() + first * columns * group;
    std::int32_t* number = cells.numbers_.data() + first * group;
    for (std::size_t i = 0; i < groups * group; ++i) {
      const bool there = i < count;
      const auto k = there ? static_cast<std::size_t>(candidates[columns][i]) : 0;
      double* const to = place + i / group * columns * group + i % group;
      for (std::size_t j = 0; j < columns; ++j) {
        to[j * group] = there ? centroids[k * columns + j] : std::numeric_limits<double>::infinity();
      }
      number[i] = static_cast<std::int32_t>(k);
    }
    return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(groups)};
  }

  template <class Element>
  static void grow(aligned_buffer<Element>& buffer, std::size_t used, std::size_t size) {
    if (size <= buffer.size()) return;
    aligned_buffer<Element> larger(2 * size);
    std::copy_n(buffer.data(), used, larger.data());
    buffer = std::move(larger);
  }

  // True when the lists where rows are to be expected, which is where the centroids are, cost less than all centroids.
  bool worthwhile() const {
    std::size_t groups = 0;
    const cell_candidates& all = cells.levels_[0];
    for (std::size_t k = 0; k < clusters; ++k) {
      std::size_t cell = 0;
      for (std::size_t j = columns; j-- > 0;) {
        const double last = static_cast<double>(cells.counts_[j]) - 1;
        cell = cell * cells.counts_[j] + static_cast<std::size_t>(std::clamp(all[j][k], 0.0, last));
      }
      groups += cells.lists_[cell].groups;
    }
    const auto count = static_cast<double>(clusters);
    const double all_centroids = 3 + count * static_cast<double>(columns + 8) / 32;
    return cycles_of_a_row + cycles_of_a_group * static_cast<double>(groups) / count < all_centroids;
  }
};

template <class Scalar>
void centroid_cells::set(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
                         std::size_t rows) {
  any_ = false;
  if (columns > most_columns || clusters < least_clusters || rows < least_rows) return;
  std::array<double, most_columns> least{}, extent{};
  double largest = 0, farthest = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    double low = centroids[j], high = centroids[j];
    for (std::size_t k = 1; k < clusters; ++k) {
      low = std::min(low, centroids[k * columns + j]);
      high = std::max(high, centroids[k * columns + j]);
    }
    least[j] = low;
    extent[j] = high - low;
    largest = std::max(largest, extent[j]);
    farthest = std::max({farthest, std::abs(low), std::abs(high)});
  }

  // The narrowest cells of equal sides of which there are not too many.
  const auto wanted =
      static_cast<double>(std::min({cells_for_a_cluster * clusters, rows / rows_for_a_cell, most_cells}));
  const auto cells_of = [&](double width) {
    double cells = 1;
    for (std::size_t j = 0; j < columns; ++j) cells *= std::floor(extent[j] / width) + 1;
    return cells;
  };
  double width = largest / static_cast<double>(most_cells_of_an_axis - 1);
  if (!(width > smallest_width) || !(farthest < largest_place)) return;
  while (cells_of(width) > wanted) width *= 1.125;
  const double inverse = static_cast<double>(static_cast<Scalar>(1 / width));
  // Where places are rounded by a part of a cell, cells tell little.
  const double rounded = farthest * static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  if (!std::isfinite(inverse) || !(inverse > 0) || !(rounded * inverse < 0.25)) return;

  inverse_ = inverse;
  reach_ = 1;
  for (std::size_t j = 0; j < most_columns; ++j) {
    counts_[j] = j < columns ? static_cast<std::size_t>(extent[j] / width) + 1 : 1;
    const double middle = least[j] + extent[j] / 2;
    low_[j] = static_cast<double>(static_cast<Scalar>(middle - static_cast<double>(counts_[j]) / 2 / inverse));
    reach_ = std::max(reach_, static_cast<double>(counts_[j]));
  }
  any_ = cell_builder{*this, centroids, clusters, columns, most_groups_for_a_cell * cells() + clusters}.build();
}

template void centroid_cells::set<float>(std::span<const double>, std::size_t, std::size_t, std::size_t);
template void centroid_cells::set<double>(std::span<const double>, std::size_t, std::size_t, std::size_t);

}  // namespace shoal
#endif
