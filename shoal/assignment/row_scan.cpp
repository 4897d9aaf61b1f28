// Scans of one row of costs, vectors of columns at a time. What they return has the same bits on any instruction set.
#include <algorithm>
#include <limits>

#include <shoal/assignment/row_scan.hpp>
#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/assignment/row_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::assignment {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::CappedTag<double, 8>;
using index_tag = hn::RebindToUnsigned<tag>;

constexpr double infinity = std::numeric_limits<double>::infinity();

HWY_INLINE hn::Vec<tag> load(tag d, const double* p) { return hn::LoadU(d, p); }
HWY_INLINE hn::Vec<tag> load(tag d, const float* p) { return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, tag>(), p)); }
HWY_INLINE hn::Vec<tag> load(tag d, const std::int32_t* p) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::int32_t, tag>(), p));
}
HWY_INLINE hn::Vec<tag> load(tag d, const std::int64_t* p) {
  return hn::ConvertTo(d, hn::LoadU(hn::Rebind<std::int64_t, tag>(), p));
}

// What is not a cost: not-a-number, −∞, or too large to be added up.
HWY_INLINE hn::Mask<tag> is_wrong(hn::Vec<tag> cost, hn::Vec<tag> upper, hn::Vec<tag> endless) {
  return hn::Not(hn::Or(hn::Le(hn::Abs(cost), upper), hn::Eq(cost, endless)));
}

template <class T>
HWY_INLINE bool group_minima_of(const T* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials, std::size_t columns,
                                double most, double* HWY_RESTRICT minima) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto upper = hn::Set(d, most);
  const auto endless = hn::Set(d, infinity);
  auto wrong = hn::FirstN(d, 0);
  std::fill(minima, minima + column_groups, infinity);
  std::size_t j = 0;
  for (; j + column_groups <= columns; j += column_groups) {
    for (std::size_t g = 0; g < column_groups; g += lanes) {
      const auto cost = load(d, costs + j + g);
      wrong = hn::Or(wrong, is_wrong(cost, upper, endless));
      hn::StoreU(hn::Min(hn::LoadU(d, minima + g), hn::Sub(cost, hn::LoadU(d, potentials + j + g))), d, minima + g);
    }
  }
  bool fine = hn::AllFalse(d, wrong);
  for (std::size_t g = 0; j < columns; ++j, ++g) {
    const auto cost = static_cast<double>(costs[j]);
    fine = fine && cost >= -most && (cost <= most || cost == infinity);
    minima[g] = std::min(minima[g], cost - potentials[j]);
  }
  return fine;
}

template <class T>
HWY_INLINE bool all_valid(const T* HWY_RESTRICT costs, std::size_t columns, double most) {
  for (std::size_t j = 0; j < columns; ++j) {
    const auto cost = static_cast<double>(costs[j]);
    if (!(cost >= -most && (cost <= most || cost == infinity))) return false;
  }
  return true;
}

template <class T>
HWY_INLINE row_check append_checked_of(const T* HWY_RESTRICT costs, std::size_t columns, double bound, double most,
                                       entries out) {
  const tag d;
  const index_tag di;
  const std::size_t lanes = hn::Lanes(d);
  const auto bounds = hn::Set(d, bound);
  const auto upper = hn::Set(d, most);
  auto finite = hn::FirstN(d, lanes);
  row_check found;
  std::size_t j = 0;
  const auto look = [&](hn::Vec<tag> cost, std::size_t column) HWY_ATTR {
    const auto within = hn::Le(cost, bounds);
    hn::CompressStore(hn::Iota(di, column), hn::RebindMask(di, within), di, out.columns + found.count);
    found.count += hn::CompressStore(cost, within, d, out.values + found.count);
  };
  for (; j + 2 * lanes <= columns; j += 2 * lanes) {
    const auto first = load(d, costs + j);
    const auto second = load(d, costs + j + lanes);
    finite = hn::And(finite, hn::And(hn::Le(hn::Abs(first), upper), hn::Le(hn::Abs(second), upper)));
    if (hn::AllFalse(d, hn::Le(hn::Min(first, second), bounds))) continue;
    look(first, j);
    look(second, j + lanes);
  }
  // Where something is large, each cost is looked at: +∞ is valid.
  found.valid = (hn::AllTrue(d, finite) || all_valid(costs, j, most)) && all_valid(costs + j, columns - j, most);
  for (; j < columns; ++j) {
    const auto cost = static_cast<double>(costs[j]);
    if (!(cost <= bound)) continue;
    out.columns[found.count] = j;
    out.values[found.count++] = cost;
  }
  return found;
}

template <class T>
HWY_INLINE least_check find_least_of(const T* HWY_RESTRICT costs, std::size_t columns, double most) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto upper = hn::Set(d, most);
  auto finite = hn::FirstN(d, lanes);
  auto least = hn::Set(d, infinity);
  auto other = least;
  std::size_t j = 0;
  for (; j + 2 * lanes <= columns; j += 2 * lanes) {
    const auto first = load(d, costs + j);
    const auto second = load(d, costs + j + lanes);
    finite = hn::And(finite, hn::And(hn::Le(hn::Abs(first), upper), hn::Le(hn::Abs(second), upper)));
    least = hn::Min(least, first);
    other = hn::Min(other, second);
  }
  least_check found{hn::AllTrue(d, finite), hn::GetLane(hn::MinOfLanes(d, hn::Min(least, other)))};
  // Where something is large, each cost is looked at: +∞ is valid.
  if (!found.valid) found.valid = all_valid(costs, j, most);
  found.valid = found.valid && all_valid(costs + j, columns - j, most);
  for (; j < columns; ++j) found.least = std::min(found.least, static_cast<double>(costs[j]));
  return found;
}

template <class T>
HWY_INLINE std::size_t append_within_of(const T* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials,
                                        std::size_t first, std::size_t last, double bound, std::size_t limit,
                                        entries out) {
  const tag d;
  const index_tag di;
  const std::size_t lanes = hn::Lanes(d);
  const auto bounds = hn::Set(d, bound);
  std::size_t count = 0;
  std::size_t j = first;
  for (; j + lanes <= last && count < limit; j += lanes) {
    const auto cost = load(d, costs + j);
    const auto within = hn::Le(hn::Sub(cost, hn::LoadU(d, potentials + j)), bounds);
    if (hn::AllFalse(d, within)) continue;
    hn::CompressStore(hn::Iota(di, j), hn::RebindMask(di, within), di, out.columns + count);
    count += hn::CompressStore(cost, within, d, out.values + count);
  }
  for (; j < last && count < limit; ++j) {
    const auto cost = static_cast<double>(costs[j]);
    if (!(cost - potentials[j] <= bound)) continue;
    out.columns[count] = j;
    out.values[count++] = cost;
  }
  return std::min(count, limit);
}

template <class T>
HWY_INLINE std::size_t append_nearer_of(const T* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials,
                                        const double* HWY_RESTRICT distances, std::size_t first, std::size_t last,
                                        double shift, double bound, entries out) {
  const tag d;
  const index_tag di;
  const std::size_t lanes = hn::Lanes(d);
  const auto bounds = hn::Set(d, bound);
  const auto shifts = hn::Set(d, shift);
  std::size_t count = 0;
  std::size_t j = first;
  for (; j + lanes <= last; j += lanes) {
    const auto reached = hn::Add(hn::Sub(load(d, costs + j), hn::LoadU(d, potentials + j)), shifts);
    const auto nearer = hn::Lt(reached, hn::Min(bounds, hn::LoadU(d, distances + j)));
    if (hn::AllFalse(d, nearer)) continue;
    hn::CompressStore(hn::Iota(di, j), hn::RebindMask(di, nearer), di, out.columns + count);
    count += hn::CompressStore(reached, nearer, d, out.values + count);
  }
  for (; j < last; ++j) {
    const double reached = static_cast<double>(costs[j]) - potentials[j] + shift;
    if (!(reached < std::min(bound, distances[j]))) continue;
    out.columns[count] = j;
    out.values[count++] = reached;
  }
  return count;
}

template <class T>
HWY_INLINE bool all_at_least_of(const T* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials, std::size_t columns,
                                double bound) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bounds = hn::Set(d, bound);
  auto less = hn::FirstN(d, 0);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    less = hn::Or(less, hn::Not(hn::Ge(hn::Sub(load(d, costs + j), hn::LoadU(d, potentials + j)), bounds)));
  }
  if (!hn::AllFalse(d, less)) return false;
  for (; j < columns; ++j) {
    if (!(static_cast<double>(costs[j]) - potentials[j] >= bound)) return false;
  }
  return true;
}

// The dispatch of Highway takes functions, not templates.
#define SHOAL_ROW_SCANS(NAME, T)                                                                                   \
  bool minima_##NAME(const T* costs, const double* potentials, std::size_t columns, double most, double* minima) { \
    return group_minima_of(costs, potentials, columns, most, minima);                                              \
  }                                                                                                                \
  least_check valid_least_##NAME(const T* costs, std::size_t columns, double most) {                               \
    return find_least_of(costs, columns, most);                                                                    \
  }                                                                                                                \
  row_check checked_##NAME(const T* costs, std::size_t columns, double bound, double most, entries out) {          \
    return append_checked_of(costs, columns, bound, most, out);                                                    \
  }                                                                                                                \
  std::size_t within_##NAME(const T* costs, const double* potentials, std::size_t first, std::size_t last,         \
                            double bound, std::size_t limit, entries out) {                                        \
    return append_within_of(costs, potentials, first, last, bound, limit, out);                                    \
  }                                                                                                                \
  std::size_t nearer_##NAME(const T* costs, const double* potentials, const double* distances, std::size_t first,  \
                            std::size_t last, double shift, double bound, entries out) {                           \
    return append_nearer_of(costs, potentials, distances, first, last, shift, bound, out);                         \
  }                                                                                                                \
  bool least_##NAME(const T* costs, const double* potentials, std::size_t columns, double bound) {                 \
    return all_at_least_of(costs, potentials, columns, bound);                                                     \
  }
SHOAL_ROW_SCANS(float32, float)
SHOAL_ROW_SCANS(float64, double)
SHOAL_ROW_SCANS(int32, std::int32_t)
SHOAL_ROW_SCANS(int64, std::int64_t)
#undef SHOAL_ROW_SCANS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::assignment
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::assignment {

#define SHOAL_ROW_SCANS(NAME, T)                                                                                  \
  HWY_EXPORT(minima_##NAME);                                                                                      \
  HWY_EXPORT(valid_least_##NAME);                                                                                 \
  HWY_EXPORT(checked_##NAME);                                                                                     \
  HWY_EXPORT(within_##NAME);                                                                                      \
  HWY_EXPORT(nearer_##NAME);                                                                                      \
  HWY_EXPORT(least_##NAME);                                                                                       \
  bool group_minima(const T* costs, const double* potentials, std::size_t columns, double most, double* minima) { \
    return HWY_DYNAMIC_DISPATCH(minima_##NAME)(costs, potentials, columns, most, minima);                         \
  }                                                                                                               \
  least_check find_least(const T* costs, std::size_t columns, double most) {                                      \
    return HWY_DYNAMIC_DISPATCH(valid_least_##NAME)(costs, columns, most);                                        \
  }                                                                                                               \
  row_check append_checked(const T* costs, std::size_t columns, double bound, double most, entries out) {         \
    return HWY_DYNAMIC_DISPATCH(checked_##NAME)(costs, columns, bound, most, out);                                \
  }                                                                                                               \
  std::size_t append_within(const T* costs, const double* potentials, std::size_t first, std::size_t last,        \
                            double bound, std::size_t limit, entries out) {                                       \
    return HWY_DYNAMIC_DISPATCH(within_##NAME)(costs, potentials, first, last, bound, limit, out);                \
  }                                                                                                               \
  std::size_t append_nearer(const T* costs, const double* potentials, const double* distances, std::size_t first, \
                            std::size_t last, double shift, double bound, entries out) {                          \
    return HWY_DYNAMIC_DISPATCH(nearer_##NAME)(costs, potentials, distances, first, last, shift, bound, out);     \
  }                                                                                                               \
  bool all_at_least(const T* costs, const double* potentials, std::size_t columns, double bound) {                \
    return HWY_DYNAMIC_DISPATCH(least_##NAME)(costs, potentials, columns, bound);                                 \
  }
SHOAL_ROW_SCANS(float32, float)
SHOAL_ROW_SCANS(float64, double)
SHOAL_ROW_SCANS(int32, std::int32_t)
SHOAL_ROW_SCANS(int64, std::int64_t)
#undef SHOAL_ROW_SCANS

}  // namespace shoal::assignment
#endif
