// Scans of whole rows of costs, vectors of columns at a time. Minima and differences have the same bits in any order.
#include <cstdint>
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

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace shoal::assignment
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::assignment {

HWY_EXPORT(find_least_two_target);

least_two find_least_two(const double* costs, const double* potentials, std::size_t columns) {
  return HWY_DYNAMIC_DISPATCH(find_least_two_target)(costs, potentials, columns);
}

}  // namespace shoal::assignment
#endif
