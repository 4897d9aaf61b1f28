#include <shoal/nearest/centroid_cells.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include <shoal/core/padded.hpp>
#include <shoal/core/simd_targets.hpp>
#include <shoal/execution/executor.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/nearest/centroid_cells.cpp"
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

using cell_candidates = centroid_cells::candidates;

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

// Groups in the lists of a part of the grid, for each of its cells and for each cluster: many more where centroids lie
// in heaps, which need lists longer than the cells are worth.
constexpr std::size_t most_groups_for_a_cell = 8;
constexpr std::size_t most_groups_for_a_cluster = 1;

// The first so many halvings are made by one thread. What they leave is divided by all, each part into groups of its
// own, so that no list depends on who made it.
constexpr std::size_t halvings_of_one_thread = 4;
constexpr std::size_t most_parts = std::size_t{1} << halvings_of_one_thread;
// Fewer clusters: to call the others takes as long as to help them.
constexpr std::size_t least_shared_clusters = 64;

// Cycles of a Zen 4 that a row takes apart from its groups, and for each group.
constexpr double cycles_of_a_row = 9;
constexpr double cycles_of_a_group = 4;

}  // namespace

// A block of cells with the groups that its lists may fill, and the candidates for it in levels[0].
struct cell_part {
  cell_block block;
  std::size_t count = 0;  // of candidates
  std::vector<cell_candidates>* levels = nullptr;
  std::size_t next_group = 0;
  std::size_t end_group = 0;
  bool fits = false;
};

// Divides the grid into halves, and their lists with them, until a list is one group or a block of cells one cell.
struct cell_builder {
  centroid_cells& cells;
  std::span<const double> centroids;
  std::size_t clusters;
  std::size_t columns;
  std::vector<padded<cell_part>> parts = {};

  bool build(executor* workers) {
    cells.lists_.resize(cells.cells() + 1);
    cells.levels_.resize(1 + most_parts);  // no list of levels may move from here on
    std::vector<cell_candidates>& top = cells.levels_[0];
    cell_candidates& all = level(top, 0);
    for (auto& each : all) each.grow(clusters + cell_padding);
    for (std::size_t k = 0; k < clusters; ++k) {
      for (std::size_t j = 0; j < columns; ++j) {
        all[j][k] = (centroids[k * columns + j] - cells.low_[j]) * cells.inverse_;
      }
      all[columns][k] = static_cast<double>(k);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      std::fill_n(all[j].data() + clusters, cell_padding, cell_nowhere);
    }

    const cell_block grid{{0, 0, 0}, cells.counts_};
    cut(grid, 0, clusters);
    cell_part far;
    far.end_group = (clusters + centroid_cells::group - 1) / centroid_cells::group;
    std::size_t groups = far.end_group;
    for (auto& [part] : parts) {
      part.next_group = groups;
      groups += most_groups_for_a_cell * cells_in(part.block) + most_groups_for_a_cluster * clusters;
      part.end_group = groups;
    }
    cells.places_.grow(groups * columns * centroid_cells::group);
    cells.numbers_.grow(groups * centroid_cells::group);
    cells.lists_.back() = write_list(far, cells.levels_[0][0], clusters);
    const auto divide_part = [&](std::size_t p) {
      cell_part& part = parts[p].value;
      part.fits = divide(part, part.block, 0, part.count);
    };
    if (workers != nullptr && clusters >= least_shared_clusters) {
      workers->run(parts.size(), 1, [&](std::size_t p, const team_member&) { divide_part(p); });
    } else {
      for (std::size_t p = 0; p < parts.size(); ++p) divide_part(p);
    }
    return std::all_of(parts.begin(), parts.end(), [](const padded<cell_part>& part) { return part.value.fits; }) &&
           worthwhile();
  }

  static cell_candidates& level(std::vector<cell_candidates>& levels, std::size_t depth) {
    if (levels.size() <= depth) levels.resize(depth + 1);
    return levels[depth];
  }

  static std::size_t cells_in(const cell_block& block) {
    std::size_t count = 1;
    for (std::size_t j = 0; j < centroid_cells::most_columns; ++j) count *= block.end[j] - block.first[j];
    return count;
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

  // Copies those of `count` candidates that may be nearest to some point of the block; returns how many.
  std::size_t keep(cell_candidates& from, std::size_t count, const cell_block& block, cell_candidates& to) const {
    for (auto& each : to) each.grow(count + cell_padding);
    const cell_bounds bounds = bounds_of(block);
    return columns == 1   ? HWY_DYNAMIC_DISPATCH(keep_near_1)(from, count, bounds, to)
           : columns == 2 ? HWY_DYNAMIC_DISPATCH(keep_near_2)(from, count, bounds, to)
                          : HWY_DYNAMIC_DISPATCH(keep_near_3)(from, count, bounds, to);
  }

  std::size_t longest_axis(const cell_block& block) const {
    std::size_t longest = 0;
    for (std::size_t j = 1; j < columns; ++j) {
      if (block.end[j] - block.first[j] > block.end[longest] - block.first[longest]) longest = j;
    }
    return longest;
  }

  static std::array<cell_block, 2> halves_of(const cell_block& block, std::size_t axis) {
    std::array<cell_block, 2> halves = {block, block};
    halves[0].end[axis] = halves[1].first[axis] = block.first[axis] + (block.end[axis] - block.first[axis]) / 2;
    return halves;
  }

  // Cuts a block, among the candidates for which are the first `count` of the top level `depth`, into parts.
  void cut(const cell_block& block, std::size_t depth, std::size_t count) {
    std::vector<cell_candidates>& top = cells.levels_[0];
    const std::size_t axis = longest_axis(block);
    if (depth == halvings_of_one_thread || block.end[axis] - block.first[axis] == 1) {
      std::vector<cell_candidates>& levels = cells.levels_[1 + parts.size()];
      cell_candidates& own = level(levels, 0);
      parts.push_back({{block, keep(top[depth], count, block, own), &levels}});
      return;
    }
    cell_candidates& near = level(top, depth + 1);
    const std::size_t kept = keep(top[depth], count, block, near);
    for (const cell_block& half : halves_of(block, axis)) cut(half, depth + 1, kept);
  }

  // Divides a block of a part, whose candidates are the first `count` of the level `depth`. False when there are too
  // many groups.
  bool divide(cell_part& part, const cell_block& block, std::size_t depth, std::size_t count) {
    std::vector<cell_candidates>& levels = *part.levels;
    const std::size_t axis = longest_axis(block);
    if (count <= centroid_cells::group || block.end[axis] - block.first[axis] == 1) {
      if (part.next_group + (count + centroid_cells::group - 1) / centroid_cells::group > part.end_group) return false;
      fill(block, write_list(part, levels[depth], count));
      return true;
    }
    for (const cell_block& half : halves_of(block, axis)) {
      cell_candidates& near = level(levels, depth + 1);
      if (!divide(part, half, depth + 1, keep(levels[depth], count, half, near))) return false;
    }
    return true;
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

  centroid_cells::list write_list(cell_part& part, const cell_candidates& candidates, std::size_t count) {
    constexpr std::size_t group = centroid_cells::group;
    const std::size_t groups = (count + group - 1) / group;
    const std::size_t first = part.next_group;
    part.next_group += groups;
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

  // True when the lists where rows are to be expected, which is where the centroids are, cost less than all centroids.
  bool worthwhile() const {
    std::size_t groups = 0;
    const cell_candidates& all = cells.levels_[0][0];
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
void centroid_cells::set(std::span<const double> centroids, std::size_t clusters, std::size_t columns, std::size_t rows,
                         executor* workers) {
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
  any_ = cell_builder{*this, centroids, clusters, columns}.build(workers);
}

template void centroid_cells::set<float>(std::span<const double>, std::size_t, std::size_t, std::size_t, executor*);
template void centroid_cells::set<double>(std::span<const double>, std::size_t, std::size_t, std::size_t, executor*);

}  // namespace shoal
#endif
