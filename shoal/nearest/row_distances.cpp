// Distances of rows to points, and what seeding sums of them.
#include <algorithm>

#include <shoal/core/simd_targets.hpp>
#include <shoal/nearest/nearest.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/nearest/row_distances.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/nearest/row_panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal {
namespace HWY_NAMESPACE {
namespace {

// Squared distances of one turned panel to `points` points (1 to 2 at a time).
template <std::size_t Points, class D, class T = hn::TFromD<D>, class V = hn::Vec<D>>
HWY_INLINE void distance_panel(D d, const T* HWY_RESTRICT panel, std::size_t columns, const T* point0, const T* point1,
                               std::size_t count, T* out0, T* out1) {
  const std::size_t lanes = hn::Lanes(d);
  V a0 = hn::Zero(d), a1 = a0, a2 = a0, b0 = a0, b1 = a0, b2 = a0;
  for (std::size_t j = 0; j < columns; ++j) {
    const V x0 = hn::Load(d, panel);
    const V x1 = hn::Load(d, panel + lanes);
    const V x2 = hn::Load(d, panel + 2 * lanes);
    const V p = hn::Set(d, point0[j]);
    V difference = hn::Sub(x0, p);
    a0 = hn::MulAdd(difference, difference, a0);
    difference = hn::Sub(x1, p);
    a1 = hn::MulAdd(difference, difference, a1);
    difference = hn::Sub(x2, p);
    a2 = hn::MulAdd(difference, difference, a2);
    if constexpr (Points == 2) {
      const V q = hn::Set(d, point1[j]);
      difference = hn::Sub(x0, q);
      b0 = hn::MulAdd(difference, difference, b0);
      difference = hn::Sub(x1, q);
      b1 = hn::MulAdd(difference, difference, b1);
      difference = hn::Sub(x2, q);
      b2 = hn::MulAdd(difference, difference, b2);
    }
    panel += panel_vectors * lanes;
  }
  const auto write = [&](V v0, V v1, V v2, T* out) HWY_ATTR {
    if (count == panel_vectors * lanes) {
      hn::StoreU(v0, d, out);
      hn::StoreU(v1, d, out + lanes);
      hn::StoreU(v2, d, out + 2 * lanes);
      return;
    }
    HWY_ALIGN T all[panel_vectors * hn::MaxLanes(hn::ScalableTag<T>())];
    hn::Store(v0, d, all);
    hn::Store(v1, d, all + lanes);
    hn::Store(v2, d, all + 2 * lanes);
    std::copy_n(all, count, out);
  };
  write(a0, a1, a2, out0);
  if constexpr (Points == 2) write(b0, b1, b2, out1);
}

template <class T>
void squared_distances_with(matrix_view<const T> rows, matrix_view<const T> points, T* out, std::size_t out_stride,
                            nearest_scratch<T>& scratch) {
  const hn::ScalableTag<T> d;
  const std::size_t width = panel_vectors * hn::Lanes(d);
  const std::size_t columns = rows.columns();
  scratch.panel.grow(width * columns + columns);
  scratch.padded_rows.grow(width * columns);
  T* zero = scratch.panel.data() + width * columns;
  std::fill(zero, zero + columns, T{0});
  for (std::size_t first = 0; first < rows.rows(); first += width) {
    turn_panel(d, rows, first, zero, scratch.panel.data(), scratch.padded_rows.data());
    const std::size_t count = std::min(width, rows.rows() - first);
    std::size_t t = 0;
    for (; t + 2 <= points.rows(); t += 2) {
      distance_panel<2>(d, scratch.panel.data(), columns, points.row(t), points.row(t + 1), count,
                        out + t * out_stride + first, out + (t + 1) * out_stride + first);
    }
    if (t < points.rows()) {
      distance_panel<1>(d, scratch.panel.data(), columns, points.row(t), points.row(t), count,
                        out + t * out_stride + first, out);
    }
  }
}

// Σ (x_j − p_j)² in as many parts as a vector has lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> parts_of_distance(D d, const T* HWY_RESTRICT row, const T* HWY_RESTRICT point,
                                        std::size_t columns) {
  const std::size_t lanes = hn::Lanes(d);
  auto squares = hn::Zero(d);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) {
    const auto difference = hn::Sub(hn::LoadU(d, row + j), hn::LoadU(d, point + j));
    squares = hn::MulAdd(difference, difference, squares);
  }
  if (j < columns) {
    const auto there = hn::FirstN(d, columns - j);
    const auto difference = hn::Sub(hn::MaskedLoad(there, d, row + j), hn::MaskedLoad(there, d, point + j));
    squares = hn::MulAdd(difference, difference, squares);
  }
  return squares;
}

template <class T>
void distances_to_labels_with(matrix_view<const T> rows, matrix_view<const T> points, const std::int32_t* labels,
                              T* out) {
  const hn::ScalableTag<T> d;
  const std::size_t columns = rows.columns();
  const auto parts = [&](std::size_t i) HWY_ATTR {
    return parts_of_distance(d, rows.row(i), points.row(static_cast<std::size_t>(labels[i])), columns);
  };
  if constexpr (hn::MaxLanes(d) >= 4 && sizeof(T) == 4) {
    const std::size_t count = rows.rows();
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const auto sums = sum_four(d, parts(i), parts(i + 1), parts(i + 2), parts(i + 3));
      hn::StoreU(sums, hn::DFromV<decltype(sums)>(), out + i);
    }
    if (i == count) return;
    // In the same order of additions as the others: a row's bits must not depend on its place among the rows.
    const auto last = [&](std::size_t k) HWY_ATTR { return parts(std::min(i + k, count - 1)); };
    const auto sums = sum_four(d, last(0), last(1), last(2), last(3));
    T four[4];
    hn::StoreU(sums, hn::DFromV<decltype(sums)>(), four);
    std::copy_n(four, count - i, out + i);
  } else {
    for (std::size_t i = 0; i < rows.rows(); ++i) out[i] = hn::GetLane(hn::SumOfLanes(d, parts(i)));
  }
}

template <class D>
HWY_INLINE hn::Vec<D> promoted(D d, const float* from) {
  const hn::Rebind<float, D> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}
template <class D>
HWY_INLINE hn::Vec<D> promoted(D d, const double* from) {
  return hn::LoadU(d, from);
}

template <class T, class W>
double sum_of_minima_with(const T* a, const T* b, const W* weights, std::size_t count) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  const auto minimum = [&](std::size_t i) HWY_ATTR { return hn::Min(promoted(d, a + i), promoted(d, b + i)); };
  std::size_t i = 0;
  if (weights == nullptr) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      sum0 = hn::Add(sum0, minimum(i));
      sum1 = hn::Add(sum1, minimum(i + lanes));
    }
  } else {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      sum0 = hn::MulAdd(promoted(d, weights + i), minimum(i), sum0);
      sum1 = hn::MulAdd(promoted(d, weights + i + lanes), minimum(i + lanes), sum1);
    }
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < count; ++i) {
    const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[i]);
    sum += weight * static_cast<double>(std::min(a[i], b[i]));
  }
  return sum;
}

}  // namespace

void squared_distances_float(matrix_view<const float> rows, matrix_view<const float> points, float* out,
                             std::size_t out_stride, nearest_scratch<float>& scratch) {
  squared_distances_with(rows, points, out, out_stride, scratch);
}
void squared_distances_double(matrix_view<const double> rows, matrix_view<const double> points, double* out,
                              std::size_t out_stride, nearest_scratch<double>& scratch) {
  squared_distances_with(rows, points, out, out_stride, scratch);
}
void distances_to_labels_float(matrix_view<const float> rows, matrix_view<const float> points,
                               const std::int32_t* labels, float* out) {
  distances_to_labels_with(rows, points, labels, out);
}
void distances_to_labels_double(matrix_view<const double> rows, matrix_view<const double> points,
                                const std::int32_t* labels, double* out) {
  distances_to_labels_with(rows, points, labels, out);
}
double sum_of_minima_float(const float* a, const float* b, const float* weights, std::size_t count) {
  return sum_of_minima_with(a, b, weights, count);
}
double sum_of_minima_mixed(const double* a, const double* b, const float* weights, std::size_t count) {
  return sum_of_minima_with(a, b, weights, count);
}
double sum_of_minima_double(const double* a, const double* b, const double* weights, std::size_t count) {
  return sum_of_minima_with(a, b, weights, count);
}
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace shoal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal {

HWY_EXPORT(squared_distances_float);
HWY_EXPORT(squared_distances_double);
HWY_EXPORT(distances_to_labels_float);
HWY_EXPORT(distances_to_labels_double);
HWY_EXPORT(sum_of_minima_float);
HWY_EXPORT(sum_of_minima_mixed);
HWY_EXPORT(sum_of_minima_double);
HWY_EXPORT(target_name);

template <>
void squared_distances(matrix_view<const float> rows, matrix_view<const float> points, float* out,
                       std::size_t out_stride, nearest_scratch<float>& scratch) {
  HWY_DYNAMIC_DISPATCH(squared_distances_float)(rows, points, out, out_stride, scratch);
}
template <>
void squared_distances(matrix_view<const double> rows, matrix_view<const double> points, double* out,
                       std::size_t out_stride, nearest_scratch<double>& scratch) {
  HWY_DYNAMIC_DISPATCH(squared_distances_double)(rows, points, out, out_stride, scratch);
}
template <>
void distances_to_labels(matrix_view<const float> rows, matrix_view<const float> points, const std::int32_t* labels,
                         float* out) {
  HWY_DYNAMIC_DISPATCH(distances_to_labels_float)(rows, points, labels, out);
}
template <>
void distances_to_labels(matrix_view<const double> rows, matrix_view<const double> points, const std::int32_t* labels,
                         double* out) {
  HWY_DYNAMIC_DISPATCH(distances_to_labels_double)(rows, points, labels, out);
}
template <>
double sum_of_minima(const float* a, const float* b, const float* weights, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_minima_float)(a, b, weights, count);
}
template <>
double sum_of_minima(const double* a, const double* b, const float* weights, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_minima_mixed)(a, b, weights, count);
}
template <>
double sum_of_minima(const double* a, const double* b, const double* weights, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_of_minima_double)(a, b, weights, count);
}

std::string simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace shoal
#endif
