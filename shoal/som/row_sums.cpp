#include <shoal/som/row_sums.hpp>

#include <array>
#include <cmath>

#include <shoal/core/simd_targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/som/row_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/core/unrolled-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::som {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using shoal::HWY_NAMESPACE::unrolled;

// Sums of a row's squares, whatever the width of the vectors.
constexpr std::size_t partial_sums = 8;
using tag = hn::CappedTag<double, partial_sums>;
constexpr std::size_t lanes = hn::MaxLanes(tag());
constexpr std::size_t vectors = partial_sums / lanes;

HWY_INLINE hn::Vec<tag> promoted(tag d, const float* from) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, tag>(), from));
}
HWY_INLINE hn::Vec<tag> promoted(tag d, const double* from) { return hn::LoadU(d, from); }

template <bool Weighted, class T>
HWY_INLINE void add_rows_with(const row_block<T>& block, const std::int32_t* best, const double* HWY_RESTRICT centre,
                              std::size_t rank, std::size_t members, double* HWY_RESTRICT weights,
                              double* HWY_RESTRICT all_sums) {
  const tag d;
  const matrix_view<const T> rows = block.rows;
  const T* const row_weights = block.weights;
  const std::size_t columns = rows.columns(), count = rows.rows();
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = static_cast<std::size_t>(best[i]);
    if (members > 1 && u % members != rank) continue;
    const double weight = Weighted ? static_cast<double>(row_weights[i]) : 1.0;
    const T* HWY_RESTRICT const row = rows.row(i);
    double* HWY_RESTRICT const sums = all_sums + u * columns;
    std::size_t j = 0;
    const auto add = [&](std::size_t at) HWY_ATTR {
      const auto difference = hn::Sub(promoted(d, row + at), hn::LoadU(d, centre + at));
      const auto weighted = Weighted ? hn::Mul(hn::Set(d, weight), difference) : difference;
      hn::StoreU(hn::Add(hn::LoadU(d, sums + at), weighted), d, sums + at);
    };
    for (; j + partial_sums <= columns; j += partial_sums)
      unrolled<vectors>([&](auto v) HWY_ATTR { add(j + v * lanes); });
    for (; j < columns; ++j) sums[j] += weight * (static_cast<double>(row[j]) - centre[j]);
    weights[u] += weight;
  }
}

template <class T>
HWY_INLINE void measure_rows_with(matrix_view<const T> rows, const std::int32_t* best, const double* units,
                                  double* HWY_RESTRICT distances) {
  const tag d;
  const std::size_t columns = rows.columns(), count = rows.rows();
  for (std::size_t i = 0; i < count; ++i) {
    const T* HWY_RESTRICT const row = rows.row(i);
    const double* HWY_RESTRICT const unit = units + static_cast<std::size_t>(best[i]) * columns;
    double total = 0;
    std::size_t j = 0;
    if (columns >= partial_sums) {
      std::array<hn::Vec<tag>, vectors> squares;
      unrolled<vectors>([&](auto v) HWY_ATTR { squares[v] = hn::Zero(d); });
      for (; j + partial_sums <= columns; j += partial_sums) {
        unrolled<vectors>([&](auto v) HWY_ATTR {
          const auto difference = hn::Sub(promoted(d, row + j + v * lanes), hn::LoadU(d, unit + j + v * lanes));
          squares[v] = hn::Add(squares[v], hn::Mul(difference, difference));
        });
      }
      HWY_ALIGN double sums[partial_sums];
      unrolled<vectors>([&](auto v) HWY_ATTR { hn::Store(squares[v], d, sums + v * lanes); });
      total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    }
    for (; j < columns; ++j) {
      const double difference = static_cast<double>(row[j]) - unit[j];
      total += difference * difference;
    }
    distances[i] = std::sqrt(total);
  }
}

template <class T>
HWY_INLINE void add_weighted_or_not(const row_block<T>& block, const std::int32_t* best, const double* centre,
                                    std::size_t rank, std::size_t members, statistics& into) {
  double* const weights = into.weights.data();
  double* const sums = into.sums.data();
  if (block.weights == nullptr) {
    add_rows_with<false>(block, best, centre, rank, members, weights, sums);
  } else {
    add_rows_with<true>(block, best, centre, rank, members, weights, sums);
  }
}

}  // namespace

void add_rows_float(const row_block<float>& block, const std::int32_t* best, const double* centre, std::size_t rank,
                    std::size_t members, statistics& into) {
  add_weighted_or_not(block, best, centre, rank, members, into);
}
void add_rows_double(const row_block<double>& block, const std::int32_t* best, const double* centre, std::size_t rank,
                     std::size_t members, statistics& into) {
  add_weighted_or_not(block, best, centre, rank, members, into);
}
void measure_rows_float(matrix_view<const float> rows, const std::int32_t* best, const double* units,
                        double* distances) {
  measure_rows_with(rows, best, units, distances);
}
void measure_rows_double(matrix_view<const double> rows, const std::int32_t* best, const double* units,
                         double* distances) {
  measure_rows_with(rows, best, units, distances);
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::som
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::som {

HWY_EXPORT(add_rows_float);
HWY_EXPORT(add_rows_double);
HWY_EXPORT(measure_rows_float);
HWY_EXPORT(measure_rows_double);

template <>
void add_rows(const row_block<float>& block, const std::int32_t* best, const double* centre, std::size_t rank,
              std::size_t members, statistics& into) {
  HWY_DYNAMIC_DISPATCH(add_rows_float)(block, best, centre, rank, members, into);
}
template <>
void add_rows(const row_block<double>& block, const std::int32_t* best, const double* centre, std::size_t rank,
              std::size_t members, statistics& into) {
  HWY_DYNAMIC_DISPATCH(add_rows_double)(block, best, centre, rank, members, into);
}
template <>
void measure_rows(matrix_view<const float> rows, const std::int32_t* best, const double* units, double* distances) {
  HWY_DYNAMIC_DISPATCH(measure_rows_float)(rows, best, units, distances);
}
template <>
void measure_rows(matrix_view<const double> rows, const std::int32_t* best, const double* units, double* distances) {
  HWY_DYNAMIC_DISPATCH(measure_rows_double)(rows, best, units, distances);
}

}  // namespace shoal::som
#endif
