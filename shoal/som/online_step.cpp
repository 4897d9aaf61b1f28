#include <shoal/som/online_step.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/som/online_step.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::som {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, turned_unit>;
using V = hn::Vec<D>;

// What orders the units for a row, of a vector of them.
template <metric Metric>
HWY_INLINE V ranks_of(D d, const turned_codebook& codebook, const double* HWY_RESTRICT row, std::size_t first) {
  V rank = hn::Zero(d), squares = hn::Zero(d);
  const double* HWY_RESTRICT w = codebook.values + first;
  for (std::size_t j = 0; j < codebook.columns; ++j, w += codebook.stride) {
    const V x = hn::Set(d, row[j]), weight = hn::Load(d, w);
    if constexpr (Metric == metric::cosine) {
      rank = hn::NegMulAdd(x, weight, rank);
      squares = hn::MulAdd(weight, weight, squares);
    } else {
      const V difference = hn::Sub(x, weight);
      if constexpr (Metric == metric::euclidean) rank = hn::MulAdd(difference, difference, rank);
      if constexpr (Metric == metric::taxicab) rank = hn::Add(rank, hn::Abs(difference));
      if constexpr (Metric == metric::chebyshev) rank = hn::Max(rank, hn::Abs(difference));
    }
  }
  if constexpr (Metric == metric::cosine) {
    rank = hn::IfThenElse(hn::Gt(squares, hn::Zero(d)), hn::Div(rank, hn::Sqrt(squares)), hn::Zero(d));
  }
  return rank;
}

template <metric Metric>
HWY_INLINE matched_unit find_unit_by(const turned_codebook& codebook, const double* row) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V least = hn::Set(d, std::numeric_limits<double>::infinity()), numbers = hn::Zero(d);
  const V units = hn::Set(d, static_cast<double>(codebook.units));
  for (std::size_t u = 0; u < codebook.units; u += lanes) {
    const V number = hn::Iota(d, static_cast<double>(u));
    const V rank = ranks_of<Metric>(d, codebook, row, u);
    const auto better = hn::And(hn::Lt(rank, least), hn::Lt(number, units));
    least = hn::IfThenElse(better, rank, least);
    numbers = hn::IfThenElse(better, number, numbers);
  }
  // Every lane holds its first unit of its least rank; of equal lanes the lowest unit counts.
  const V best = hn::MinOfLanes(d, least);
  const V candidates = hn::IfThenElse(hn::Eq(least, best), numbers, units);
  return {static_cast<std::size_t>(hn::GetLane(hn::MinOfLanes(d, candidates))), hn::GetLane(best)};
}

}  // namespace

matched_unit find_unit_with(metric metric, const turned_codebook& codebook, const double* row) {
  switch (metric) {
    case metric::euclidean:
      return find_unit_by<metric::euclidean>(codebook, row);
    case metric::taxicab:
      return find_unit_by<metric::taxicab>(codebook, row);
    case metric::cosine:
      return find_unit_by<metric::cosine>(codebook, row);
    case metric::chebyshev:
      break;
  }
  return find_unit_by<metric::chebyshev>(codebook, row);
}

void pull_units_with(const turned_codebook& codebook, const double* HWY_RESTRICT row, const double* HWY_RESTRICT pulls,
                     std::size_t first, std::size_t end) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < codebook.columns; ++j) {
    double* HWY_RESTRICT const w = codebook.values + j * codebook.stride;
    const V x = hn::Set(d, row[j]);
    std::size_t u = first;
    for (; u + lanes <= end; u += lanes) {
      const V weight = hn::LoadU(d, w + u);
      hn::StoreU(hn::MulAdd(hn::LoadU(d, pulls + u), hn::Sub(x, weight), weight), d, w + u);
    }
    for (; u < end; ++u) w[u] += pulls[u] * (row[j] - w[u]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::som
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::som {
namespace {
HWY_EXPORT(find_unit_with);
HWY_EXPORT(pull_units_with);
}  // namespace

matched_unit find_unit(metric metric, const turned_codebook& codebook, const double* row) {
  matched_unit found = HWY_DYNAMIC_DISPATCH(find_unit_with)(metric, codebook, row);
  if (metric == metric::euclidean) found.distance = std::sqrt(found.distance);
  if (metric == metric::cosine) {
    double squares = 0;
    for (std::size_t j = 0; j < codebook.columns; ++j) squares += row[j] * row[j];
    found.distance = squares > 0 ? std::max(0.0, 1 + found.distance / std::sqrt(squares)) : 1.0;
  }
  return found;
}

void pull_units(const turned_codebook& codebook, const double* row, const double* pulls, std::size_t first,
                std::size_t end) {
  HWY_DYNAMIC_DISPATCH(pull_units_with)(codebook, row, pulls, first, end);
}

}  // namespace shoal::som
#endif
