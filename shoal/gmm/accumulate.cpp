#include <shoal/gmm/accumulate.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/gmm/accumulate.cpp"
#include <shoal/core/simd_targets.hpp>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/gmm/kernel/block-inl.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// float32 products of such values stay in range; rows beyond are done in float64.
constexpr float most_extent = 1e18F;

const team_member alone(0, 0, 1, nullptr);

// Whether only its values say that a row is beyond most_extent. Under wide components that lie well within it, whoever
// is beyond has a best_norm above far_norm: 32 deviations.
template <class Scalar>
bool needs_extents(const mixture_view<Scalar>& mixture) {
  if constexpr (sizeof(Scalar) == 8) return false;
  if (!mixture.wide()) return true;
  static_assert(far_norm <= 32 * 32);
  for (std::size_t k = 0; k < mixture.components; ++k) {
    if (!lies_within(mixture.component(k), static_cast<Scalar>(most_extent / 64))) return true;
  }
  return false;
}

// Lists the rows that float32 is too coarse for.
inline void find_far_rows(bool posterior, std::size_t rows, workspace<float>::memory& memory) {
  const hn::ScalableTag<float> d;
  memory.far.clear();
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    // Written so that a NaN counts as far.
    auto near = hn::Le(hn::Load(d, memory.own.extent.data() + r), hn::Set(d, most_extent));
    if (posterior) {
      near = hn::And(near, hn::Le(hn::Load(d, memory.own.best_norm.data() + r), hn::Set(d, far_norm)));
    }
    if (hn::AllTrue(d, near)) continue;
    for (std::uint64_t left = mask_bits(d, hn::Not(near)); left != 0; left &= left - 1) {
      const std::size_t row = r + static_cast<std::size_t>(std::countr_zero(left));
      if (row < rows) memory.far.push_back(row);
    }
  }
}

// The far rows as a block of their own.
inline block_view<double> far_block(const block_view<float>& block, workspace<float>::memory& memory) {
  const std::size_t columns = block.rows.columns();
  memory.far_rows.grow(block_rows * columns);
  memory.far_weights.grow(block_rows);
  for (std::size_t i = 0; i < memory.far.size(); ++i) {
    const float* const row = block.rows.row(memory.far[i]);
    std::copy(row, row + columns, memory.far_rows.data() + i * columns);
    memory.far_weights[i] = static_cast<double>(memory.own.weights[memory.far[i]]);
  }
  return {matrix_view<const double>(memory.far_rows.data(), memory.far.size(), columns), memory.far_weights.data()};
}

// Takes the far rows out of the float32 block: weightless, and at the origin so that no infinity is multiplied by zero.
inline void forget_far_rows(const mixture_view<double>& mixture, workspace<float>::memory& memory) {
  for (const std::size_t r : memory.far) {
    for (std::size_t k = 0; k < mixture.components; ++k) memory.own.terms[k * panel_stride + r] = 0;
    if (mixture.wide()) {
      memory.own.rows[r] = memory.own.blank.data();
    } else {
      for (std::size_t j = 0; j < mixture.columns; ++j) memory.own.panel[j * panel_stride + r] = 0;
    }
    memory.own.weights[r] = 0;
    memory.own.scale[r] = 0;
    memory.own.greatest[r] = 0;
    memory.own.log_sum[r] = 0;
  }
}

// Does the rows that float32 is too coarse for again in float64 and takes them out of the float32 block.
inline void accumulate_far_rows(const parameters<float>& components, const parameters<float>& about, bool given,
                                const block_view<float>& block, workspace<float>::memory& memory, statistics& into) {
  find_far_rows(!given, block.rows.rows(), memory);
  if (memory.far.empty()) return;
  const mixture_view<double> mixture = double_view_of(components, about);
  const block_view<double> far = far_block(block, memory);
  make_room(mixture, 1, memory.in_double);
  load_block(mixture, far, false, memory.in_double);
  if (given) {
    for (std::size_t i = 0; i < memory.far.size(); ++i) {
      for (std::size_t k = 0; k < mixture.components; ++k) {
        memory.in_double.terms[k * panel_stride + i] =
            static_cast<double>(memory.own.terms[k * panel_stride + memory.far[i]]);
      }
    }
    std::copy_n(memory.in_double.weights.data(), padded_rows<double>(memory.far.size()), memory.in_double.scale.data());
  } else {
    posterior(mixture, far, negligible_log_ratio<float>, alone, memory.in_double);
    into.values()[statistics_layout::log_likelihood()] +=
        block_log_likelihood(mixture, memory.far.size(), memory.in_double);
  }
  start_moments(mixture, memory.in_double.members[0]);
  moments(mixture, far, alone, memory.in_double, into);
  finish_moments(mixture, memory.in_double.members[0], into);
  into.values()[statistics_layout::far_rows()] += static_cast<double>(memory.far.size());
  forget_far_rows(mixture, memory);
}

template <class Scalar>
void given_terms(const parameters<Scalar>& components, const responsibilities_function<Scalar>& given,
                 const row_block<Scalar>& block, block_memory<Scalar>& memory) {
  const std::size_t padded = padded_rows<Scalar>(block.rows.rows());
  std::fill_n(memory.terms.data(), components.components * panel_stride, Scalar{0});
  given(block, memory.terms.data(), panel_stride);
  std::copy_n(memory.weights.data(), padded, memory.scale.data());
}

// Where some rows lie in their block of block_rows, whose moments may be summed together.
struct place_in_block {
  bool first;
  bool last;
  bool extents;  // must be found
};

// Rows of one block. What rank 0 does alone between two waits is little compared with the rest.
template <class Scalar>
void accumulate_block(const accumulation<Scalar>& body, const row_block<Scalar>& rows, place_in_block place,
                      const team_member& member, typename workspace<Scalar>::memory& memory, statistics& into) {
  const parameters<Scalar>& components = *body.components;
  const parameters<Scalar>& about = body.about == nullptr ? components : *body.about;
  const responsibilities_function<Scalar>* const given = body.given;
  const mixture_view<Scalar> mixture = view_of(components, about);
  const block_view<Scalar> block{rows.rows, rows.weights};
  if (member.rank() == 0) {
    make_room(mixture, member.size(), memory.own);
    load_block(mixture, block, place.extents, memory.own);
    into.values()[statistics_layout::total_weight()] += block_weight(block.rows.rows(), memory.own);
    if (given != nullptr) given_terms(components, *given, rows, memory.own);
  }
  member.wait();
  if (given == nullptr) {
    posterior(mixture, block, negligible_log_ratio<Scalar>, member, memory.own);
  }
  if (member.rank() == 0) {
    if constexpr (sizeof(Scalar) == 4) {
      accumulate_far_rows(components, about, given != nullptr, block, memory, into);
    }
    if (given == nullptr) {
      into.values()[statistics_layout::log_likelihood()] +=
          block_log_likelihood(mixture, block.rows.rows(), memory.own);
    }
  }
  member.wait();
  member_memory<Scalar>& own = memory.own.members[member.rank()];
  if (place.first) start_moments(mixture, own);
  moments(mixture, block, member, memory.own, into);
  if (place.last) finish_moments(mixture, own, into);
  member.wait();
}

template <class Scalar>
void accumulate_piece(const accumulation<Scalar>& body, const row_block<Scalar>& piece, const team_member& member,
                      typename workspace<Scalar>::memory& memory, statistics& into) {
  const mixture_view<Scalar> mixture = view_of(*body.components, *body.components);
  const std::size_t at_once = rows_at_once(mixture);
  const bool extents = body.given != nullptr || needs_extents(mixture);
  for (std::size_t first = 0; first < piece.rows.rows(); first += at_once) {
    const std::size_t count = std::min(at_once, piece.rows.rows() - first);
    const row_block<Scalar> block{piece.rows.middle_rows(first, count),
                                  piece.weights == nullptr ? nullptr : piece.weights + first, piece.first + first};
    if (member.rank() == 0) {
      const std::size_t columns = piece.rows.columns();
      const std::size_t left = std::min(at_once, piece.rows.rows() - first - count);
      const bool ahead = left > 0 && piece.rows.row_stride() == columns;
      memory.own.next_rows = ahead ? reinterpret_cast<const char*>(piece.rows.row(first + count)) : nullptr;
      memory.own.next_bytes = ahead ? left * columns * sizeof(Scalar) : 0;
    }
    const std::size_t after = first + count;
    const place_in_block place{first % block_rows == 0, after % block_rows == 0 || after == piece.rows.rows(), extents};
    accumulate_block(body, block, place, member, memory, into);
  }
}

void accumulate_float(const accumulation<float>& body, const row_block<float>& piece, const team_member& member,
                      workspace<float>::memory& memory, statistics& into) {
  accumulate_piece(body, piece, member, memory, into);
}

void accumulate_double(const accumulation<double>& body, const row_block<double>& piece, const team_member& member,
                       workspace<double>::memory& memory, statistics& into) {
  accumulate_piece(body, piece, member, memory, into);
}

// Predicted responsibilities are as small as the scalar can tell (but for denormals), not only what matters to sums.
template <class T>
inline constexpr double prediction_cut = sizeof(T) == 4 ? 87.0 : 708.0;

// What one row's prediction is, from the block it was computed in.
template <class Scalar, class T>
void write_row(const mixture_view<T>& mixture, const block_memory<T>& memory, std::size_t from, std::size_t to,
               const prediction<Scalar>& out) {
  const T* const terms = memory.terms.data() + from;
  if (out.labels != nullptr) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < mixture.components; ++k) {
      if (terms[k * panel_stride] > terms[best * panel_stride]) best = k;
    }
    out.labels[to] = static_cast<std::int32_t>(best);
  }
  if (out.probabilities != nullptr) {
    for (std::size_t k = 0; k < mixture.components; ++k) {
      out.probabilities[to * mixture.components + k] = static_cast<Scalar>(terms[k * panel_stride] / memory.sum[from]);
    }
  }
  if (out.log_density != nullptr) {
    out.log_density[to] = static_cast<Scalar>(static_cast<double>(memory.greatest[from]) +
                                              static_cast<double>(memory.log_sum[from]) + mixture.packed->log_shift);
  }
}

// Predicts the rows that float32 is too coarse for and takes them out of the float32 block.
inline void predict_far_rows(const parameters<float>& components, const block_view<float>& block,
                             workspace<float>::memory& memory, const prediction<float>& out, score& into) {
  find_far_rows(true, block.rows.rows(), memory);
  if (memory.far.empty()) return;
  const mixture_view<double> mixture = double_view_of(components, components);
  const block_view<double> far = far_block(block, memory);
  make_room(mixture, 1, memory.in_double);
  load_block(mixture, far, false, memory.in_double);
  posterior(mixture, far, prediction_cut<double>, alone, memory.in_double);
  into.log_likelihood += block_log_likelihood(mixture, memory.far.size(), memory.in_double);
  for (std::size_t i = 0; i < memory.far.size(); ++i) write_row(mixture, memory.in_double, i, memory.far[i], out);
  forget_far_rows(mixture, memory);
}

template <class Scalar>
void predict_block(const parameters<Scalar>& components, const block_view<Scalar>& block, bool extents,
                   typename workspace<Scalar>::memory& memory, const prediction<Scalar>& out, score& into) {
  const mixture_view<Scalar> mixture = view_of(components, components);
  const std::size_t rows = block.rows.rows();
  make_room(mixture, 1, memory.own);
  load_block(mixture, block, extents, memory.own);
  into.weight += block_weight(rows, memory.own);
  posterior(mixture, block, prediction_cut<Scalar>, alone, memory.own);
  std::size_t next_far = 0;
  memory.far.clear();
  if constexpr (sizeof(Scalar) == 4) predict_far_rows(components, block, memory, out, into);
  for (std::size_t r = 0; r < rows; ++r) {
    if (next_far < memory.far.size() && memory.far[next_far] == r) {
      ++next_far;
    } else {
      write_row(mixture, memory.own, r, r, out);
    }
  }
  into.log_likelihood += block_log_likelihood(mixture, rows, memory.own);
}

template <class Scalar>
void predict_piece(const parameters<Scalar>& components, const row_block<Scalar>& piece,
                   typename workspace<Scalar>::memory& memory, const prediction<Scalar>& out, score& into) {
  const mixture_view<Scalar> mixture = view_of(components, components);
  const std::size_t at_once = rows_at_once(mixture);
  const bool extents = needs_extents(mixture);
  for (std::size_t first = 0; first < piece.rows.rows(); first += at_once) {
    const std::size_t count = std::min(at_once, piece.rows.rows() - first);
    const block_view<Scalar> block{piece.rows.middle_rows(first, count),
                                   piece.weights == nullptr ? nullptr : piece.weights + first};
    prediction<Scalar> here = out;
    if (here.labels != nullptr) here.labels += first;
    if (here.probabilities != nullptr) here.probabilities += first * components.components;
    if (here.log_density != nullptr) here.log_density += first;
    predict_block(components, block, extents, memory, here, into);
  }
}

void predict_float(const parameters<float>& components, const row_block<float>& piece, workspace<float>::memory& memory,
                   const prediction<float>& out, score& into) {
  predict_piece(components, piece, memory, out, into);
}

void predict_double(const parameters<double>& components, const row_block<double>& piece,
                    workspace<double>::memory& memory, const prediction<double>& out, score& into) {
  predict_piece(components, piece, memory, out, into);
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::gmm {

HWY_EXPORT(accumulate_float);
HWY_EXPORT(accumulate_double);
HWY_EXPORT(predict_float);
HWY_EXPORT(predict_double);
HWY_EXPORT(target_name);

template <class Scalar>
void accumulation<Scalar>::operator()(const row_block<Scalar>& block, const team_member& member, scratch& memory,
                                      statistics& into) const {
  if constexpr (std::is_same_v<Scalar, float>) {
    HWY_DYNAMIC_DISPATCH(accumulate_float)(*this, block, member, memory.get(), into);
  } else {
    HWY_DYNAMIC_DISPATCH(accumulate_double)(*this, block, member, memory.get(), into);
  }
}
template struct accumulation<float>;
template struct accumulation<double>;

template <class Scalar>
void predict_rows(const parameters<Scalar>& components, const row_block<Scalar>& block, workspace<Scalar>& memory,
                  const prediction<Scalar>& out, score& into) {
  if constexpr (std::is_same_v<Scalar, float>) {
    HWY_DYNAMIC_DISPATCH(predict_float)(components, block, memory.get(), out, into);
  } else {
    HWY_DYNAMIC_DISPATCH(predict_double)(components, block, memory.get(), out, into);
  }
}
template void predict_rows(const parameters<float>&, const row_block<float>&, workspace<float>&,
                           const prediction<float>&, score&);
template void predict_rows(const parameters<double>&, const row_block<double>&, workspace<double>&,
                           const prediction<double>&, score&);

const char* instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace shoal::gmm
#endif
