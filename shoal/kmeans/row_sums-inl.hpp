// Adds rows to the sums of their clusters in float64. Compiled once for each instruction set.
#if defined(SHOAL_KMEANS_ROW_SUMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KMEANS_ROW_SUMS_INL
#undef SHOAL_KMEANS_ROW_SUMS_INL
#else
#define SHOAL_KMEANS_ROW_SUMS_INL
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <shoal/core/unrolled-inl.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/kmeans/block_input.hpp>
#include <shoal/kmeans/tuning.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::kmeans {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using shoal::HWY_NAMESPACE::unrolled;

template <class D>
HWY_INLINE double sum_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

template <class D>
HWY_INLINE hn::Vec<D> load_promoted(D d, const float* from) {
  const hn::Rebind<float, D> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}
template <class D>
HWY_INLINE hn::Vec<D> load_promoted(D d, const double* from) {
  return hn::LoadU(d, from);
}

template <bool Sum, bool Measure, class D, class T>
HWY_INLINE void add_columns(D d, const T* row, const double* centroid, double* sum, double weight,
                            hn::Vec<D>& squares) {
  const auto difference = hn::Sub(load_promoted(d, row), hn::LoadU(d, centroid));
  const auto weighted = hn::Mul(difference, hn::Set(d, weight));
  if constexpr (Sum) hn::StoreU(hn::Add(weighted, hn::LoadU(d, sum)), d, sum);
  if constexpr (Measure) squares = hn::MulAdd(weighted, difference, squares);
}

// Adds rows to their clusters in float64, columns across the lanes: what fills no vector goes into one of half the
// lanes, and so on. Sums Σ w‖x − c‖² along with it, in one vector of each width.
template <class D, std::size_t Lanes = hn::MaxLanes(D())>
struct row_adder {
  hn::Vec<D> squares;
  row_adder<hn::Half<D>> narrower;

  HWY_INLINE row_adder() : squares(hn::Zero(D())) {}

  template <bool Sum, bool Measure, class T>
  HWY_INLINE void add(const T* HWY_RESTRICT row, const double* HWY_RESTRICT centroid, double* HWY_RESTRICT sum,
                      double weight, std::size_t columns) {
    const D d;
    for (; columns >= Lanes; columns -= Lanes, row += Lanes, centroid += Lanes, sum += Sum ? Lanes : 0) {
      add_columns<Sum, Measure>(d, row, centroid, sum, weight, squares);
    }
    if (columns > 0) narrower.template add<Sum, Measure>(row, centroid, sum, weight, columns);
  }
  HWY_INLINE double inertia() const { return sum_lanes(D(), squares) + narrower.inertia(); }
};
template <class D>
struct row_adder<D, 1> {
  hn::Vec<D> squares;

  HWY_INLINE row_adder() : squares(hn::Zero(D())) {}

  template <bool Sum, bool Measure, class T>
  HWY_INLINE void add(const T* HWY_RESTRICT row, const double* HWY_RESTRICT centroid, double* HWY_RESTRICT sum,
                      double weight, std::size_t columns) {
    for (std::size_t j = 0; j < columns; ++j) {
      add_columns<Sum, Measure>(D(), row + j, centroid + j, sum + j, weight, squares);
    }
  }
  HWY_INLINE double inertia() const { return hn::GetLane(squares); }
};

// Adds each row of a block to its cluster and returns Σ w‖x − c‖². Only clusters k with k % members == rank are
// touched, so that the members of a team can share a block without changing the order within a cluster; then
// `Measure` is false for them, and each measures whole blocks, for which `Sum` is false. When Columns is not zero it is
// their number.
template <bool Sum, bool Measure, std::size_t Columns = 0, class T>
HWY_INLINE double add_rows_with(const block_input<T>& block, const std::int32_t* labels, const double* centroids,
                                double* weights, double* sums, std::size_t rank, std::size_t members) {
  const matrix_view<const T> rows = block.rows;  // not seen through a pointer, which sums could change
  const T* const row_weights = block.weights;
  const std::size_t columns = Columns > 0 ? Columns : rows.columns();
  row_adder<hn::ScalableTag<double>> adder;
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    const auto k = static_cast<std::size_t>(labels[i]);
    if (Sum && !Measure && k % members != rank) continue;
    const double weight = row_weights == nullptr ? 1.0 : static_cast<double>(row_weights[i]);
    adder.template add<Sum, Measure>(rows.row(i), centroids + k * columns, Sum ? sums + k * columns : nullptr, weight,
                                     columns);
    if constexpr (Sum) weights[k] += weight;
  }
  return Measure ? adder.inertia() : 0.0;
}

// The rows of a block, those of one cluster behind one another, in the order of their clusters and then their own.
struct rows_by_cluster {
  std::array<std::uint16_t, block_rows> order;

  rows_by_cluster(const std::int32_t* labels, std::size_t rows, std::size_t clusters) {
    std::array<std::uint16_t, most_ordered_clusters + 1> first;
    std::fill_n(first.begin(), clusters + 1, std::uint16_t{0});
    for (std::size_t i = 0; i < rows; ++i) ++first[static_cast<std::size_t>(labels[i]) + 1];
    for (std::size_t k = 0; k < clusters; ++k) first[k + 1] = static_cast<std::uint16_t>(first[k + 1] + first[k]);
    for (std::size_t i = 0; i < rows; ++i) {
      order[first[static_cast<std::size_t>(labels[i])]++] = static_cast<std::uint16_t>(i);
    }
  }
};

// Vectors of columns that are summed at a time: their sums, their centroid and their squares stay in registers.
inline constexpr std::size_t held_vectors = HWY_TARGET <= HWY_AVX3 || !HWY_ARCH_X86 ? 8 : 4;
// Rows that are asked for before they are added.
inline constexpr std::size_t rows_ahead = 12;

// Some rows of one cluster, and those that come after them.
template <class T>
struct cluster_rows {
  matrix_view<const T> rows;
  const T* weights;
  const std::uint16_t* order;  // theirs
  std::size_t count;
  std::size_t last;  // how far behind `order` the last row of all is
};

// Adds `Count` vectors of columns, from `column` on, of some rows of one cluster.
template <std::size_t Count, bool Sum, bool Measure, bool Weighted, class D, class T>
HWY_INLINE void add_held_columns(D d, const cluster_rows<T>& mine, std::size_t column,
                                 const double* HWY_RESTRICT centroid, double* HWY_RESTRICT sum,
                                 hn::Vec<D> (&squares)[held_vectors]) {
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d);
  V centre[Count], total[Count], square[Count];
  unrolled<Count>([&](auto v) HWY_ATTR {
    centre[v] = hn::LoadU(d, centroid + column + v * lanes);
    if constexpr (Sum) total[v] = hn::LoadU(d, sum + column + v * lanes);
    square[v] = squares[v];
  });
  for (std::size_t n = 0; n < mine.count; ++n) {
    const std::size_t i = mine.order[n];
    const T* HWY_RESTRICT const row = mine.rows.row(i) + column;
    const T* const ahead = mine.rows.row(mine.order[std::min(n + rows_ahead, mine.last)]) + column;
    constexpr std::size_t line = 64 / sizeof(T);
    for (std::size_t j = 0; j < Count * lanes; j += line) hwy::Prefetch(ahead + j);
    [[maybe_unused]] const V weight = hn::Set(d, Weighted ? static_cast<double>(mine.weights[i]) : 1.0);
    unrolled<Count>([&](auto v) HWY_ATTR {
      const V difference = hn::Sub(load_promoted(d, row + v * lanes), centre[v]);
      const V weighted = Weighted ? hn::Mul(difference, weight) : difference;
      if constexpr (Sum) total[v] = hn::Add(weighted, total[v]);
      if constexpr (Measure) square[v] = hn::MulAdd(weighted, difference, square[v]);
    });
  }
  unrolled<Count>([&](auto v) HWY_ATTR {
    if constexpr (Sum) hn::StoreU(total[v], d, sum + column + v * lanes);
    squares[v] = square[v];
  });
}

// What add_rows_with does, for rows so wide that a sum in memory, and one chain of additions of squares, would be
// waited for: the rows of one cluster behind one another, some columns at a time. The sums have the same bits.
template <bool Sum, bool Measure, bool Weighted, class T>
HWY_INLINE double add_wide_rows(const block_input<T>& block, const std::int32_t* labels, std::size_t clusters,
                                const double* centroids, double* weights, double* sums, std::size_t rank,
                                std::size_t members) {
  const hn::ScalableTag<double> d;
  using D = decltype(d);
  const std::size_t lanes = hn::Lanes(d), columns = block.rows.columns(), count = block.rows.rows();
  const rows_by_cluster by_cluster(labels, count, clusters);
  hn::Vec<D> squares[held_vectors];
  unrolled<held_vectors>([&](auto v) HWY_ATTR { squares[v] = hn::Zero(d); });
  row_adder<hn::ScalableTag<double>> rest;
  for (std::size_t first = 0, end = 0; first < count; first = end) {
    const std::int32_t label = labels[by_cluster.order[first]];
    for (end = first + 1; end < count && labels[by_cluster.order[end]] == label;) ++end;
    const auto k = static_cast<std::size_t>(label);
    if (Sum && !Measure && k % members != rank) continue;
    const cluster_rows<T> mine{block.rows, block.weights, by_cluster.order.data() + first, end - first,
                               count - 1 - first};
    const double* const centroid = centroids + k * columns;
    double* const sum = Sum ? sums + k * columns : nullptr;
    std::size_t j = 0;
    for (; j + held_vectors * lanes <= columns; j += held_vectors * lanes) {
      add_held_columns<held_vectors, Sum, Measure, Weighted>(d, mine, j, centroid, sum, squares);
    }
    for (; j + 2 * lanes <= columns; j += 2 * lanes) {
      add_held_columns<2, Sum, Measure, Weighted>(d, mine, j, centroid, sum, squares);
    }
    for (std::size_t n = first; n < end; ++n) {
      const std::size_t i = by_cluster.order[n];
      const double weight = Weighted ? static_cast<double>(block.weights[i]) : 1.0;
      if (j < columns) {
        rest.template add<Sum, Measure>(block.rows.row(i) + j, centroid + j, Sum ? sum + j : nullptr, weight,
                                        columns - j);
      }
      if constexpr (Sum) weights[k] += weight;
    }
  }
  if (!Measure) return 0;
  hn::Vec<D> all = squares[0];
  for (std::size_t v = 1; v < held_vectors; ++v) all = hn::Add(all, squares[v]);
  return sum_lanes(d, all) + rest.inertia();
}

inline bool are_wide(std::size_t columns, std::size_t clusters) {
  return columns >= least_ordered_columns && clusters <= most_ordered_clusters;
}

template <bool Sum, bool Measure, class T>
HWY_INLINE double add_wide_share(const block_input<T>& block, const std::int32_t* labels, std::size_t clusters,
                                 const double* centroids, double* weights, double* sums, std::size_t rank,
                                 std::size_t members) {
  const bool weighted = block.weights != nullptr;
  return weighted
             ? add_wide_rows<Sum, Measure, true>(block, labels, clusters, centroids, weights, sums, rank, members)
             : add_wide_rows<Sum, Measure, false>(block, labels, clusters, centroids, weights, sums, rank, members);
}

template <class T>
HWY_INLINE double measure_share(const block_input<T>& block, const std::int32_t* labels, std::size_t clusters,
                                const double* centroids) {
  if (are_wide(block.rows.columns(), clusters)) {
    return add_wide_share<false, true>(block, labels, clusters, centroids, nullptr, nullptr, 0, 1);
  }
  return add_rows_with<false, true>(block, labels, centroids, nullptr, nullptr, 0, 1);
}

template <class T>
HWY_INLINE double add_share(const block_input<T>& block, const std::int32_t* labels, std::size_t clusters,
                            const double* centroids, double* weights, double* sums, std::size_t rank,
                            std::size_t members) {
  if (are_wide(block.rows.columns(), clusters)) {
    return members > 1 ? add_wide_share<true, false>(block, labels, clusters, centroids, weights, sums, rank, members)
                       : add_wide_share<true, true>(block, labels, clusters, centroids, weights, sums, rank, members);
  }
  if (members > 1) return add_rows_with<true, false>(block, labels, centroids, weights, sums, rank, members);
  const auto add = [&](auto few) HWY_ATTR {
    return add_rows_with<true, true, few>(block, labels, centroids, weights, sums, rank, members);
  };
  // Where rows are short, to find out how long they are takes as long as to add them.
  switch (block.rows.columns()) {
    case 1:
      return add(std::integral_constant<std::size_t, 1>());
    case 2:
      return add(std::integral_constant<std::size_t, 2>());
    case 3:
      return add(std::integral_constant<std::size_t, 3>());
    case 4:
      return add(std::integral_constant<std::size_t, 4>());
    case 8:
      return add(std::integral_constant<std::size_t, 8>());
    case 16:
      return add(std::integral_constant<std::size_t, 16>());
    default:
      return add(std::integral_constant<std::size_t, 0>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::kmeans
HWY_AFTER_NAMESPACE();

#endif
