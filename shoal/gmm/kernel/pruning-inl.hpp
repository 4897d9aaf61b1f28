// The expectation step on data whose components lie apart: a row's far components are given up after a few columns.
#if defined(SHOAL_GMM_KERNEL_PRUNING) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_PRUNING
#undef SHOAL_GMM_KERNEL_PRUNING
#else
#define SHOAL_GMM_KERNEL_PRUNING
#endif

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <hwy/highway.h>

#include <shoal/gmm/kernel/expectation-inl.hpp>
#include <shoal/gmm/kernel/memory.hpp>
#include <shoal/gmm/kernel/mixture-inl.hpp>
#include <shoal/gmm/kernel/panel-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// The lanes of a mask as bits, the first lane lowest.
template <class D, class M>
HWY_INLINE std::uint64_t mask_bits(D d, M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = bytes[0];
  if (hn::MaxLanes(d) > 8) bits |= static_cast<std::uint64_t>(bytes[1]) << 8;
  return bits;
}

// Writes the positions of the set bits of a block to `list` and returns their number.
inline std::size_t list_bits(const std::uint64_t (&bits)[block_rows / 64], row_index* list) {
  std::size_t count = 0;
  for (std::size_t word = 0; word < block_rows / 64; ++word) {
    for (std::uint64_t left = bits[word]; left != 0; left &= left - 1) {
      list[count++] = static_cast<row_index>(word * 64 + static_cast<std::size_t>(std::countr_zero(left)));
    }
  }
  return count;
}

// For each row the component that is most probable by the columns seen so far, in memory.guess, and its
// ln πₖN(x) − log_shift by these columns, an upper bound, in memory.greatest.
template <class T>
void guess_components(const mixture_view<T>& mixture, std::size_t rows, block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  const auto minus_half = hn::Set(d, static_cast<T>(-0.5));
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    auto greatest = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto guess = hn::Zero(d);
    for (std::size_t k = 0; k < mixture.components; ++k) {
      const auto norm = hn::Load(d, memory.terms.data() + k * panel_stride + r);
      const auto bound = hn::MulAdd(norm, minus_half, hn::Set(d, mixture.packed->log_constants[k]));
      const auto better = hn::Gt(bound, greatest);
      greatest = hn::IfThenElse(better, bound, greatest);
      guess = hn::IfThenElse(better, hn::Set(d, static_cast<T>(k)), guess);
    }
    hn::Store(greatest, d, memory.greatest.data() + r);
    hn::Store(guess, d, memory.guess.data() + r);
  }
}

// The rows for which component k's bound ln πₖN(x) is not below memory.greatest − margin.
template <class T>
void possible_rows(const mixture_view<T>& mixture, std::size_t k, std::size_t rows, T margin,
                   const block_memory<T>& memory, std::uint64_t (&bits)[block_rows / 64]) {
  const hn::ScalableTag<T> d;
  const auto minus_half = hn::Set(d, static_cast<T>(-0.5));
  const auto constant = hn::Set(d, mixture.packed->log_constants[k]);
  const auto below = hn::Set(d, margin);
  const T* const norms = memory.terms.data() + k * panel_stride;
  std::fill(std::begin(bits), std::end(bits), std::uint64_t{0});
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    const auto bound = hn::MulAdd(hn::Load(d, norms + r), minus_half, constant);
    const auto least = hn::Sub(hn::Load(d, memory.greatest.data() + r), below);
    // What is not comparable (a ‖y‖² that overflowed) stays possible.
    bits[r / 64] |= mask_bits(d, hn::Not(hn::Lt(bound, least))) << (r % 64);
  }
  for (std::size_t word = 0; word < block_rows / 64; ++word) {
    const std::size_t left = rows > word * 64 ? rows - word * 64 : 0;
    if (left < 64) bits[word] &= (std::uint64_t{1} << left) - 1;
  }
}

// Completes ‖y‖² of the listed rows under component k from column `first` on.
template <class T>
void complete_norms(const mixture_view<T>& mixture, matrix_view<const T> rows, std::size_t k, std::size_t first,
                    const row_index* list, std::size_t count, block_memory<T>& memory, member_memory<T>& own) {
  if (count == 0) return;
  transpose<T>(rows, list, count, memory.blank.data(), own.centred.data());
  T* const norms = memory.terms.data() + k * panel_stride;
  T* const listed = own.responsibility.data();
  for (std::size_t i = 0; i < count; ++i) listed[i] = norms[list[i]];
  matrix_norms(own.centred.data(), count, mixture.component(k), first, mixture.columns, own.group.data(), listed);
  for (std::size_t i = 0; i < count; ++i) norms[list[i]] = listed[i];
}

// Completes each row under the component that it was guessed to belong to, and makes memory.greatest the
// ln πₖN(x) − log_shift of that component: now a lower bound of the row's greatest. Leaves in memory.bits, for each
// component, its other rows that this bound does not rule out.
template <class T>
void complete_guesses(const mixture_view<T>& mixture, matrix_view<const T> rows, std::size_t first,
                      block_memory<T>& memory, member_memory<T>& own) {
  memory.starts.assign(mixture.components + 1, 0);
  for (std::size_t r = 0; r < rows.rows(); ++r) ++memory.starts[static_cast<std::size_t>(memory.guess[r]) + 1];
  for (std::size_t k = 0; k < mixture.components; ++k) memory.starts[k + 1] += memory.starts[k];
  row_index by_guess[block_rows];
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    by_guess[memory.starts[static_cast<std::size_t>(memory.guess[r])]++] = static_cast<row_index>(r);
  }
  std::size_t start = 0;
  for (std::size_t k = 0; k < mixture.components; ++k) {
    const std::size_t count = memory.starts[k] - start;
    complete_norms(mixture, rows, k, first, by_guess + start, count, memory, own);
    for (std::size_t i = start; i < memory.starts[k]; ++i) {
      memory.greatest[by_guess[i]] =
          mixture.packed->log_constants[k] - memory.terms[k * panel_stride + by_guess[i]] / 2;
    }
    start = memory.starts[k];
  }
}

// ‖y‖² of all rows under all components, exact where the responsibility is not below exp(−cut). Elsewhere it may be a
// part of the sum, which is known to be enough: ln πₖN(x) by that part is below the row's greatest − cut already, and
// more columns only lower it. So no responsibility changes by a bit, whichever way a block takes.
template <class T>
void pruned_norms(const mixture_view<T>& mixture, matrix_view<const T> rows, double cut, block_memory<T>& memory,
                  member_memory<T>& own) {
  const std::size_t count = rows.rows();
  const std::size_t probe = probe_columns(mixture.columns);
  for (std::size_t k = 0; k < mixture.components; ++k) {
    matrix_norms(memory.panel.data(), count, mixture.component(k), 0, probe, own.group.data(),
                 memory.terms.data() + k * panel_stride);
    prefetch_next(memory, k, mixture.components);
  }
  guess_components(mixture, count, memory);

  // Does it pay? A row's own component will lose about half a unit for each column that is left.
  std::uint64_t bits[block_rows / 64];
  const double loss = 0.5 * static_cast<double>(mixture.columns - probe);
  std::size_t possible = 0;
  for (std::size_t k = 0; k < mixture.components; ++k) {
    possible_rows(mixture, k, count, static_cast<T>(cut + loss), memory, bits);
    for (const std::uint64_t word : bits) possible += static_cast<std::size_t>(std::popcount(word));
  }
  if (static_cast<double>(possible) > prune_share * static_cast<double>(count * mixture.components)) {
    for (std::size_t k = 0; k < mixture.components; ++k) {
      matrix_norms(memory.panel.data(), count, mixture.component(k), probe, mixture.columns, own.group.data(),
                   memory.terms.data() + k * panel_stride);
    }
    return;
  }

  complete_guesses(mixture, rows, probe, memory, own);
  row_index list[block_rows];
  for (std::size_t k = 0; k < mixture.components; ++k) {
    possible_rows(mixture, k, count, static_cast<T>(cut), memory, bits);
    std::size_t listed = 0;
    const std::size_t survivors = list_bits(bits, list);
    for (std::size_t i = 0; i < survivors; ++i) {
      if (memory.guess[list[i]] != static_cast<T>(k)) list[listed++] = list[i];
    }
    complete_norms(mixture, rows, k, probe, list, listed, memory, own);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
