// Few clusters and columns: rows are assigned and summed in registers, in one pass. Compiled once for each instruction
// set.
#if defined(SHOAL_KMEANS_FUSED_PASS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_KMEANS_FUSED_PASS_INL
#undef SHOAL_KMEANS_FUSED_PASS_INL
#else
#define SHOAL_KMEANS_FUSED_PASS_INL
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

#include <shoal/core/unrolled-inl.hpp>
#include <shoal/kmeans/block_input.hpp>
#include <shoal/kmeans/prepared_centroids.hpp>
#include <shoal/kmeans/row_sums-inl.hpp>
#include <shoal/kmeans/statistics.hpp>
#include <shoal/kmeans/tuning.hpp>
#include <shoal/nearest/row_panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::kmeans {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using shoal::HWY_NAMESPACE::load_columns;
using shoal::HWY_NAMESPACE::store_whole;
using shoal::HWY_NAMESPACE::unrolled;

template <class T>
HWY_NOINLINE std::int32_t nearest_in_float64(const T* row, const double* centroids, std::size_t clusters,
                                             std::size_t columns) {
  std::int32_t nearest = 0;
  double least = 0;
  for (std::size_t k = 0; k < clusters; ++k) {
    double distance = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double difference = static_cast<double>(row[j]) - centroids[k * columns + j];
      distance += difference * difference;
    }
    if (k == 0 || distance < least) {
      least = distance;
      nearest = static_cast<std::int32_t>(k);
    }
  }
  return nearest;
}

// Σ of the lanes in float64.
template <class D>
HWY_INLINE double sum_lanes_in_double(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  return static_cast<double>(hn::GetLane(v));
#else
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    return sum_lanes(d, v);
  } else {
    const hn::Half<D> half;
    const hn::Rebind<double, decltype(half)> wide;
    return sum_lanes(wide,
                     hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, v)), hn::PromoteTo(wide, hn::UpperHalf(half, v))));
  }
#endif
}

// One block whose rows have no gaps between them. Every lane sums at most 128 rows in Scalar before float64. Returns
// false when a sum left the range of Scalar; the labels are right then, and nothing was added. When Clusters is not
// zero it is their number, and the sums stay in registers.
template <std::size_t Columns, std::size_t Clusters, class T>
HWY_INLINE bool add_fused(const prepared_centroids<T>& centroids, const block_input<T>& block, std::int32_t* labels,
                          statistics& into) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t most_lanes_here = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr std::size_t terms = 1 + Columns;  // of each cluster: Σ w, Σ w(x − c)
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t count = block.rows.rows();
  const std::size_t clusters = Clusters > 0 ? Clusters : centroids.clusters();
  const T* HWY_RESTRICT const rounded = centroids.rounded();

  // The labels are those of the float64 definition when the gap between the two least distances exceeds what rounding
  // can do to both: (d + 3) roundings of a distance D, and 2√D·η + η² for centroids moved by η ≤ unit·‖c‖, where
  // 2√D ≤ D/r + r for any r; a row between two centroids has √D near half their distance.
  const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2 * 1.05;
  const double moved = unit * centroids.largest_norm();
  const double radius = std::max(centroids.half_gap(), std::max(moved, 1e-30));
  const V relative = hn::Set(d, static_cast<T>((4 * Columns + 12) * unit + 2 * moved / radius));
  const V absolute =
      hn::Set(d, static_cast<T>(2 * moved * radius + 2 * moved * moved) + 16 * std::numeric_limits<T>::min());

  std::array<double, most_fused_clusters * terms> sums{};
  double inertia = 0;
  const std::size_t run = std::min(block_rows, 128 * lanes);
  for (std::size_t begin = 0; begin < count; begin += run) {
    const std::size_t end = std::min(count, begin + run);
    HWY_ALIGN T partial[most_fused_clusters * terms * most_lanes_here];
    std::array<V, std::max<std::size_t>(Clusters, 1) * terms> held;
    if constexpr (Clusters > 0) {
      unrolled<Clusters * terms>([&](auto i) HWY_ATTR { held[i] = hn::Zero(d); });
    } else {
      std::fill_n(partial, clusters * terms * lanes, T{0});
    }
    V partial_inertia = hn::Zero(d);

    HWY_ALIGN T last_rows[Columns * most_lanes_here];
    HWY_ALIGN T last_weights[most_lanes_here] = {};
    std::array<std::int32_t, most_lanes_here> last_labels;
    for (std::size_t i = begin; i < end; i += lanes) {
      const T* rows = block.rows.row(i);
      V weight = hn::Set(d, T{1});
      std::int32_t* out = labels + i;
      const bool whole = i + lanes <= end;
      if (HWY_UNLIKELY(!whole)) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {  // lanes beyond the end repeat its last row with weight 0
          std::copy_n(block.rows.row(std::min(i + lane, end - 1)), Columns, last_rows + lane * Columns);
          if (i + lane < end) last_weights[lane] = block.weights == nullptr ? T{1} : block.weights[i + lane];
        }
        rows = last_rows;
        weight = hn::Load(d, last_weights);
        out = last_labels.data();
      } else if (block.weights != nullptr) {
        weight = hn::LoadU(d, block.weights + i);
      }

      std::array<V, Columns> x;
      load_columns<Columns>(d, rows, x);
      V best = hn::Zero(d), second = hn::Set(d, std::numeric_limits<T>::max() / 16), label = hn::Zero(d);
      for (std::size_t k = 0; k < clusters; ++k) {
        V distance = hn::Zero(d);
        unrolled<Columns>([&](auto j) HWY_ATTR {
          const V difference = hn::Sub(x[j], hn::Set(d, rounded[k * Columns + j]));
          distance = j == 0 ? hn::Mul(difference, difference) : hn::MulAdd(difference, difference, distance);
        });
        if (k == 0) {
          best = distance;
        } else {
          label = hn::IfThenElse(hn::Lt(distance, best), hn::Set(d, static_cast<T>(k)), label);
          second = hn::Min(second, hn::Max(best, distance));
          best = hn::Min(best, distance);
        }
      }
      const V bound = hn::MulAdd(relative, second, absolute);
      const auto certain = hn::Gt(hn::Sub(second, best), bound);
      store_whole(d, label, out);
      if (HWY_UNLIKELY(!hn::AllTrue(d, certain))) {
        HWY_ALIGN T exact[most_lanes_here];
        HWY_ALIGN T own[most_lanes_here];  // distance to the rounded centroid of the exact label
        hn::Store(hn::IfThenElse(certain, label, hn::Set(d, T{-1})), d, exact);
        hn::Store(best, d, own);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          if (exact[lane] >= 0) continue;
          const T* row = rows + lane * Columns;
          out[lane] = nearest_in_float64(row, centroids.values(), clusters, Columns);
          exact[lane] = static_cast<T>(out[lane]);
          const T* centroid = rounded + static_cast<std::size_t>(out[lane]) * Columns;
          own[lane] = 0;
          for (std::size_t j = 0; j < Columns; ++j) own[lane] += (row[j] - centroid[j]) * (row[j] - centroid[j]);
        }
        best = hn::Load(d, own);
        label = hn::Load(d, exact);
      }
      partial_inertia = hn::MulAdd(weight, best, partial_inertia);
      const auto weight_in = [&](std::size_t k) HWY_ATTR {
        return hn::IfThenElseZero(hn::Eq(label, hn::Set(d, static_cast<T>(k))), weight);
      };
      if constexpr (Clusters > 0) {
        unrolled<Clusters>([&](auto k) HWY_ATTR {
          const V mine = weight_in(k);
          held[k * terms] = hn::Add(held[k * terms], mine);
          unrolled<Columns>([&](auto j) HWY_ATTR {
            const V difference = hn::Sub(x[j], hn::Set(d, rounded[k * Columns + j]));
            held[k * terms + 1 + j] = hn::MulAdd(mine, difference, held[k * terms + 1 + j]);
          });
        });
      } else {
        T* sum = partial;
        for (std::size_t k = 0; k < clusters; ++k, sum += terms * lanes) {
          const V mine = weight_in(k);
          hn::Store(hn::Add(hn::Load(d, sum), mine), d, sum);
          unrolled<Columns>([&](auto j) HWY_ATTR {
            T* at = sum + (1 + j) * lanes;
            const V difference = hn::Sub(x[j], hn::Set(d, rounded[k * Columns + j]));
            hn::Store(hn::MulAdd(mine, difference, hn::Load(d, at)), d, at);
          });
        }
      }
      if (HWY_UNLIKELY(!whole)) std::copy_n(last_labels.begin(), end - i, labels + i);
    }

    inertia += sum_lanes_in_double(d, partial_inertia);
    if constexpr (Clusters > 0) {
      unrolled<Clusters * terms>([&](auto term) HWY_ATTR { sums[term] += sum_lanes_in_double(d, held[term]); });
    } else {
      for (std::size_t term = 0; term < clusters * terms; ++term) {
        sums[term] += sum_lanes_in_double(d, hn::Load(d, partial + term * lanes));
      }
    }
  }

  // From the rounded centroids to the float64 ones.
  double moved_inertia = inertia;
  for (std::size_t k = 0; k < clusters; ++k) {
    const double weight = sums[k * terms];
    for (std::size_t j = 0; j < Columns; ++j) {
      double& sum = sums[k * terms + 1 + j];
      const double delta = centroids.values()[k * Columns + j] - static_cast<double>(rounded[k * Columns + j]);
      moved_inertia += delta * (weight * delta - 2 * sum);
      sum -= weight * delta;
    }
  }
  // Squares that are lost below the normal numbers of Scalar, or that overflowed, are added again in float64.
  bool sound = std::isfinite(moved_inertia) && inertia > std::ldexp(std::numeric_limits<T>::min(), 60);
  for (std::size_t term = 0; term < clusters * terms; ++term) sound = sound && std::isfinite(sums[term]);
  if (!sound) return false;
  for (std::size_t k = 0; k < clusters; ++k) {
    into.weights[k] += sums[k * terms];
    for (std::size_t j = 0; j < Columns; ++j) into.sums[k * Columns + j] += sums[k * terms + 1 + j];
  }
  into.inertia += std::max(moved_inertia, 0.0);
  return true;
}

// So many sums fit into registers with the rest (AVX2 keeps some in memory).
constexpr std::size_t most_held_sums = 12;

template <std::size_t Columns, class T>
HWY_INLINE bool add_fused_columns(const prepared_centroids<T>& centroids, const block_input<T>& block,
                                  std::int32_t* labels, statistics& into) {
  constexpr std::size_t most_clusters = most_held_sums / (1 + Columns);
  if (centroids.clusters() == 2) return add_fused<Columns, 2>(centroids, block, labels, into);
  if constexpr (most_clusters >= 3) {
    if (centroids.clusters() == 3) return add_fused<Columns, 3>(centroids, block, labels, into);
  }
  if constexpr (most_clusters >= 4) {
    if (centroids.clusters() == 4) return add_fused<Columns, 4>(centroids, block, labels, into);
  }
  return add_fused<Columns, 0>(centroids, block, labels, into);
}

template <class T>
HWY_INLINE bool add_fused_with(const prepared_centroids<T>& centroids, const block_input<T>& block,
                               std::int32_t* labels, statistics& into) {
  switch (centroids.columns()) {
    case 1:
      return add_fused_columns<1>(centroids, block, labels, into);
    case 2:
      return add_fused_columns<2>(centroids, block, labels, into);
    case 3:
      return add_fused_columns<3>(centroids, block, labels, into);
    default:
      return add_fused_columns<4>(centroids, block, labels, into);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::kmeans
HWY_AFTER_NAMESPACE();

#endif
