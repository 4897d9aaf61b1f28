// The nearest centroids of rows of few columns, among those that the rows' cells list. Compiled once for each
// instruction set.
#if defined(SHOAL_ESTIMATION_CELL_SEARCH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_ESTIMATION_CELL_SEARCH_INL
#undef SHOAL_ESTIMATION_CELL_SEARCH_INL
#else
#define SHOAL_ESTIMATION_CELL_SEARCH_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include <shoal/core/matrix_view.hpp>
#include <shoal/core/unrolled-inl.hpp>
#include <shoal/nearest/centroid_cells.hpp>
#include <shoal/nearest/row_panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows whose cells are known before the first is looked up.
inline constexpr std::size_t cell_rows = 256;

// The cells of `count` rows without gaps between them; up to a vector more is written.
template <std::size_t Columns, class T>
HWY_INLINE void find_cells(const centroid_cells& cells, const T* HWY_RESTRICT rows, std::size_t count,
                           std::int32_t* HWY_RESTRICT found) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  const V inverse = hn::Set(d, static_cast<T>(cells.inverse())), reach = hn::Set(d, static_cast<T>(cells.reach()));
  const V zero = hn::Zero(d), outside = hn::Set(d, static_cast<T>(cells.cells()));
  HWY_ALIGN T last_rows[Columns * hn::MaxLanes(hn::ScalableTag<T>())] = {};
  for (std::size_t i = 0; i < count; i += lanes) {
    const T* from = rows + i * Columns;
    if (HWY_UNLIKELY(i + lanes > count)) {
      std::copy_n(from, (count - i) * Columns, last_rows);
      from = last_rows;
    }
    std::array<V, Columns> x;
    load_columns<Columns>(d, from, x);
    V cell = zero;
    auto inside = hn::Eq(zero, zero);
    unrolled<Columns>([&](auto reversed) HWY_ATTR {
      constexpr std::size_t j = Columns - 1 - reversed;
      const V last = hn::Set(d, static_cast<T>(cells.counts(j)) - 1);
      const V place = hn::Mul(hn::Sub(x[j], hn::Set(d, static_cast<T>(cells.low(j)))), inverse);
      inside = hn::And(inside, hn::And(hn::Gt(place, hn::Neg(reach)), hn::Lt(place, hn::Add(last, reach))));
      const V there = hn::Floor(hn::Min(hn::Max(place, zero), last));
      cell = j == Columns - 1 ? there : hn::MulAdd(cell, hn::Set(d, static_cast<T>(cells.counts(j))), there);
    });
    store_whole(d, hn::IfThenElse(inside, cell, outside), found + i);
  }
}

// The nearest of one list, by the definition: the sum of squares in float64, column by column, the first of equals.
template <std::size_t Columns, class T>
HWY_INLINE std::int32_t nearest_of_list(const centroid_cells& cells, centroid_cells::list list,
                                        const T* HWY_RESTRICT row) {
  constexpr std::size_t group = centroid_cells::group;
  const hn::CappedTag<double, group> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t lanes = hn::MaxLanes(hn::CappedTag<double, group>()), parts = group / lanes;
  std::array<V, Columns> x;
  for (std::size_t j = 0; j < Columns; ++j) x[j] = hn::Set(d, static_cast<double>(row[j]));
  const double* HWY_RESTRICT place = cells.places() + list.first * (Columns * group);
  const std::int32_t* HWY_RESTRICT number = cells.numbers() + list.first * group;
  double least = std::numeric_limits<double>::infinity();
  std::int32_t nearest = 0;
  for (std::uint32_t g = 0; g < list.groups; ++g, place += Columns * group, number += group) {
    std::array<V, parts> distances;
    unrolled<parts>([&](auto part) HWY_ATTR {
      unrolled<Columns>([&](auto j) HWY_ATTR {
        const V difference = hn::Sub(x[j], hn::Load(d, place + j * group + part * lanes));
        const V square = hn::Mul(difference, difference);
        distances[part] = j == 0 ? square : hn::Add(distances[part], square);
      });
    });
    V minimum = distances[0];
    for (std::size_t part = 1; part < parts; ++part) minimum = hn::Min(minimum, distances[part]);
    minimum = hn::MinOfLanes(d, minimum);
    if (!(hn::GetLane(minimum) < least)) continue;
    least = hn::GetLane(minimum);
    for (std::size_t part = 0; part < parts; ++part) {
      const auto found = hn::FindFirstTrue(d, hn::Eq(distances[part], minimum));
      if (parts > 1 && found < 0) continue;
      nearest = number[part * lanes + static_cast<std::size_t>(found)];
      break;
    }
  }
  return nearest;
}

template <std::size_t Columns, class T>
HWY_INLINE void find_nearest_in_cells(const centroid_cells& cells, matrix_view<const T> rows, std::int32_t* labels) {
  constexpr std::size_t most_lanes = hn::MaxLanes(hn::ScalableTag<T>());
  HWY_ALIGN std::int32_t found[cell_rows + most_lanes];
  HWY_ALIGN T packed[cell_rows * Columns];
  const bool gaps = rows.row_stride() != Columns;
  for (std::size_t first = 0; first < rows.rows(); first += cell_rows) {
    const std::size_t count = std::min(cell_rows, rows.rows() - first);
    const T* HWY_RESTRICT values = rows.row(first);
    if (gaps) {
      for (std::size_t i = 0; i < count; ++i) std::copy_n(rows.row(first + i), Columns, packed + i * Columns);
      values = packed;
    }
    find_cells<Columns>(cells, values, count, found);
    const centroid_cells::list* HWY_RESTRICT const lists = cells.lists();
    for (std::size_t i = 0; i < count; ++i) {
      labels[first + i] = nearest_of_list<Columns>(cells, lists[found[i]], values + i * Columns);
    }
  }
}

template <class T>
HWY_INLINE void find_nearest_in_cells(const centroid_cells& cells, matrix_view<const T> rows, std::int32_t* labels) {
  if (rows.columns() == 1) {
    find_nearest_in_cells<1>(cells, rows, labels);
  } else if (rows.columns() == 2) {
    find_nearest_in_cells<2>(cells, rows, labels);
  } else {
    find_nearest_in_cells<3>(cells, rows, labels);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#endif
