// Scans of whole rows of costs, vectors of columns at a time. Minima and differences have the same bits in any order.
#include <limits>

#include <shoal/assignment/dense_scan.hpp>
#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/assignment/dense_scan.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::assignment {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using tag = hn::ScalableTag<double>;
using index_tag = hn::RebindToUnsigned<tag>;

constexpr double infinity = std::numeric_limits<double>::infinity();

least_two find_least_two_target(const double* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials,
                                std::size_t columns) {
  const tag d;
  const index_tag di;
  const std::size_t lanes = hn::Lanes(d);
  auto least = hn::Set(d, infinity);
  auto second = least;
  auto place = hn::Zero(di);
  auto here = hn::Iota(di, 0);
  const auto step = hn::Set(di, lanes);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto reduced = hn::Sub(hn::LoadU(d, costs + j), hn::LoadU(d, potentials + j));
    const auto less = hn::Lt(reduced, least);
    second = hn::Min(second, hn::Max(reduced, least));
    least = hn::Min(least, reduced);
    place = hn::IfThenElse(hn::RebindMask(di, less), here, place);
    here = hn::Add(here, step);
  }
  HWY_ALIGN double leasts[hn::MaxLanes(tag())];
  HWY_ALIGN double seconds[hn::MaxLanes(tag())];
  HWY_ALIGN std::uint64_t places[hn::MaxLanes(tag())];
  hn::Store(least, d, leasts);
  hn::Store(second, d, seconds);
  hn::Store(place, di, places);
  least_two found{infinity, infinity, 0};
  const auto take = [&](double value, std::size_t column) HWY_ATTR {
    if (value < found.least || (value == found.least && column < found.column)) {
      found.second = found.least;
      found.least = value;
      found.column = column;
    } else if (value < found.second) {
      found.second = value;
    }
  };
  for (std::size_t lane = 0; lane < lanes; ++lane) take(leasts[lane], places[lane]);
  for (; j < columns; ++j) take(costs[j] - potentials[j], j);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    if (seconds[lane] < found.second) found.second = seconds[lane];
  }
  return found;
}

double relax_target(const double* HWY_RESTRICT costs, const double* HWY_RESTRICT potentials, double shift,
                    std::uint64_t row, double* HWY_RESTRICT distances, std::uint64_t* HWY_RESTRICT predecessors,
                    std::size_t columns) {
  const tag d;
  const index_tag di;
  const std::size_t lanes = hn::Lanes(d);
  const auto shifts = hn::Set(d, shift);
  const auto rows = hn::Set(di, row);
  auto least = hn::Set(d, infinity);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto reached = hn::Add(hn::Sub(hn::LoadU(d, costs + j), hn::LoadU(d, potentials + j)), shifts);
    const auto before = hn::LoadU(d, distances + j);
    const auto less = hn::Lt(reached, before);
    const auto now = hn::Min(reached, before);
    least = hn::Min(least, now);
    if (!hn::AllFalse(d, less)) {
      hn::StoreU(now, d, distances + j);
      hn::BlendedStore(rows, hn::RebindMask(di, less), di, predecessors + j);
    }
  }
  double found = hn::GetLane(hn::MinOfLanes(d, least));
  for (; j < columns; ++j) {
    const double reached = costs[j] - potentials[j] + shift;
    if (reached < distances[j]) {
      distances[j] = reached;
      predecessors[j] = row;
    }
    if (distances[j] < found) found = distances[j];
  }
  return found;
}

void append_reached_target(const double* HWY_RESTRICT distances, double bound, std::size_t columns,
                           std::vector<std::size_t>& out) {
  const tag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto bounds = hn::Set(d, bound);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    if (hn::AllFalse(d, hn::Le(hn::LoadU(d, distances + j), bounds))) continue;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (distances[j + lane] <= bound) out.push_back(j + lane);
    }
  }
  for (; j < columns; ++j) {
    if (distances[j] <= bound) out.push_back(j);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::assignment
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::assignment {

HWY_EXPORT(find_least_two_target);
HWY_EXPORT(relax_target);
HWY_EXPORT(append_reached_target);

least_two find_least_two(const double* costs, const double* potentials, std::size_t columns) {
  return HWY_DYNAMIC_DISPATCH(find_least_two_target)(costs, potentials, columns);
}

double relax(const double* costs, const double* potentials, double shift, std::uint64_t row, double* distances,
             std::uint64_t* predecessors, std::size_t columns) {
  return HWY_DYNAMIC_DISPATCH(relax_target)(costs, potentials, shift, row, distances, predecessors, columns);
}

void append_reached(const double* distances, double bound, std::size_t columns, std::vector<std::size_t>& out) {
  HWY_DYNAMIC_DISPATCH(append_reached_target)(distances, bound, columns, out);
}

}  // namespace shoal::assignment
#endif
