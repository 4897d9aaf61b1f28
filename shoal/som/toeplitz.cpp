#include <algorithm>
#include <array>

#include <shoal/core/simd_targets.hpp>
#include <shoal/som/smooth.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/som/toeplitz.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/core/unrolled-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::som {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using shoal::HWY_NAMESPACE::unrolled;

// Rows targets from `target` on, for Vectors vectors of values.
template <std::size_t Rows, std::size_t Vectors, class D, class V = hn::Vec<D>>
HWY_INLINE void add_tile(D d, const toeplitz& matrix, std::size_t target, const double* HWY_RESTRICT in,
                         std::size_t in_stride, double* HWY_RESTRICT out, std::size_t out_stride) {
  const std::size_t lanes = hn::Lanes(d);
  // Element (i, k) is line[k + at − (i − target)]; what all these rows see as zero is left out.
  const std::size_t at = matrix.targets - 1 - target;
  const std::size_t begin = matrix.first > at ? matrix.first - at : 0;
  const std::size_t last = matrix.end + Rows - 1;
  const std::size_t end = last > at ? std::min(matrix.sources, last - at) : 0;
  std::array<V, Rows * Vectors> sums;
  unrolled<Rows>([&](auto r) HWY_ATTR {
    unrolled<Vectors>([&](auto v) HWY_ATTR { sums[r * Vectors + v] = hn::LoadU(d, out + r * out_stride + v * lanes); });
  });
  for (std::size_t k = begin; k < end; ++k) {
    std::array<V, Vectors> values;
    unrolled<Vectors>([&](auto v) HWY_ATTR { values[v] = hn::LoadU(d, in + k * in_stride + v * lanes); });
    unrolled<Rows>([&](auto r) HWY_ATTR {
      const V factor = hn::Set(d, matrix.line[k + at - r]);
      unrolled<Vectors>([&](auto v)
                            HWY_ATTR { sums[r * Vectors + v] = hn::MulAdd(factor, values[v], sums[r * Vectors + v]); });
    });
  }
  unrolled<Rows>([&](auto r) HWY_ATTR {
    unrolled<Vectors>([&](auto v) HWY_ATTR { hn::StoreU(sums[r * Vectors + v], d, out + r * out_stride + v * lanes); });
  });
}

template <std::size_t Vectors, class D>
HWY_INLINE void add_targets(D d, const toeplitz& matrix, const double* in, std::size_t in_stride, double* out,
                            std::size_t out_stride) {
  constexpr std::size_t rows = 4;
  std::size_t i = 0;
  for (; i + rows <= matrix.targets; i += rows) {
    add_tile<rows, Vectors>(d, matrix, i, in, in_stride, out + i * out_stride, out_stride);
  }
  for (; i < matrix.targets; ++i) {
    add_tile<1, Vectors>(d, matrix, i, in, in_stride, out + i * out_stride, out_stride);
  }
}

}  // namespace

void add_product_with(const toeplitz& matrix, const double* in, std::size_t in_stride, double* out,
                      std::size_t out_stride, std::size_t count) {
  const hn::CappedTag<double, stride_unit> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t first = 0;
  for (; first + 3 * lanes <= count; first += 3 * lanes) {
    add_targets<3>(d, matrix, in + first, in_stride, out + first, out_stride);
  }
  if (first + 2 * lanes <= count) {
    add_targets<2>(d, matrix, in + first, in_stride, out + first, out_stride);
    first += 2 * lanes;
  }
  for (; first < count; first += lanes) {
    add_targets<1>(d, matrix, in + first, in_stride, out + first, out_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::som
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::som {
namespace {
HWY_EXPORT(add_product_with);
}

void add_product(const toeplitz& matrix, const double* in, std::size_t in_stride, double* out, std::size_t out_stride,
                 std::size_t count) {
  if (matrix.zero()) return;
  HWY_DYNAMIC_DISPATCH(add_product_with)(matrix, in, in_stride, out, out_stride, count);
}

}  // namespace shoal::som
#endif
