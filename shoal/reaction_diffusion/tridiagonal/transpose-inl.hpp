// A square of numbers in vector registers, turned over its diagonal.
#if defined(SHOAL_TRIDIAGONAL_TRANSPOSE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_TRIDIAGONAL_TRANSPOSE_INL
#undef SHOAL_TRIDIAGONAL_TRANSPOSE_INL
#else
#define SHOAL_TRIDIAGONAL_TRANSPOSE_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::reaction_diffusion::tridiagonal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// `rows` are as many vectors as each has lanes. Squares of 1, 2, 4, … lanes change places across the diagonal, each
/// size by the instruction that moves such pieces.
template <class D>
HWY_INLINE void transpose([[maybe_unused]] D d, [[maybe_unused]] hn::Vec<D>* HWY_RESTRICT rows) {
#if HWY_TARGET != HWY_SCALAR
  using scalar = hn::TFromD<D>;
  constexpr std::size_t lanes = hn::MaxLanes(D());
  constexpr std::size_t in_block = 16 / sizeof(scalar);
  if constexpr (sizeof(scalar) == 4) {
    for (std::size_t i = 0; i < lanes; i += 2) {
      const auto a = rows[i], b = rows[i + 1];
      rows[i] = hn::OddEven(hn::DupEven(b), a);
      rows[i + 1] = hn::OddEven(b, hn::DupOdd(a));
    }
    const hn::Repartition<double, D> pairs;
    for (std::size_t i = 0; i < lanes; ++i) {
      if ((i & 2) != 0) continue;
      const auto a = hn::BitCast(pairs, rows[i]), b = hn::BitCast(pairs, rows[i + 2]);
      rows[i] = hn::BitCast(d, hn::InterleaveLower(pairs, a, b));
      rows[i + 2] = hn::BitCast(d, hn::InterleaveUpper(pairs, a, b));
    }
  } else {
    for (std::size_t i = 0; i < lanes; i += 2) {
      const auto a = rows[i], b = rows[i + 1];
      rows[i] = hn::InterleaveLower(d, a, b);
      rows[i + 1] = hn::InterleaveUpper(d, a, b);
    }
  }
  if constexpr (lanes >= 2 * in_block) {
    for (std::size_t i = 0; i < lanes; ++i) {
      if ((i & in_block) != 0) continue;
      const auto a = rows[i], b = rows[i + in_block];
      rows[i] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
      rows[i + in_block] = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
    }
  }
  if constexpr (lanes >= 4 * in_block) {
    for (std::size_t i = 0; i < lanes / 2; ++i) {
      const auto a = rows[i], b = rows[i + lanes / 2];
      rows[i] = hn::ConcatLowerLower(d, b, a);
      rows[i + lanes / 2] = hn::ConcatUpperUpper(d, b, a);
    }
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::reaction_diffusion::tridiagonal
HWY_AFTER_NAMESPACE();

#endif
