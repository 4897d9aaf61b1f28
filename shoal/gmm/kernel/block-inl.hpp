// One block of rows: its responsibilities, then its moments. What a fold and a prediction share.
#if defined(SHOAL_GMM_KERNEL_BLOCK) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_GMM_KERNEL_BLOCK
#undef SHOAL_GMM_KERNEL_BLOCK
#else
#define SHOAL_GMM_KERNEL_BLOCK
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <hwy/highway.h>

#include <shoal/execution/executor.hpp>
#include <shoal/gmm/kernel/expectation-inl.hpp>
#include <shoal/gmm/kernel/memory.hpp>
#include <shoal/gmm/kernel/mixture-inl.hpp>
#include <shoal/gmm/kernel/moments-inl.hpp>
#include <shoal/gmm/kernel/panel-inl.hpp>
#include <shoal/gmm/kernel/pruning-inl.hpp>
#include <shoal/gmm/kernel/responsibilities-inl.hpp>
#include <shoal/gmm/kernel/wide_moments-inl.hpp>
#include <shoal/gmm/kernel/wide_norms-inl.hpp>
#include <shoal/gmm/parameters.hpp>

HWY_BEFORE_NAMESPACE();
namespace shoal::gmm::HWY_NAMESPACE {

// At most block_rows rows; `weights` may be null.
template <class T>
struct block_view {
  matrix_view<const T> rows;
  const T* weights;
};

template <class T>
void make_room(const mixture_view<T>& mixture, std::size_t team, block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  memory.rows.grow(panel_stride);
  if (!mixture.wide()) memory.panel.grow(mixture.columns * panel_stride);
  memory.blank.grow(mixture.columns);
  std::fill_n(memory.blank.data(), mixture.columns, T{0});
  memory.terms.grow(mixture.components * panel_stride);
  for (aligned_buffer<T>* vector : {&memory.weights, &memory.extent, &memory.greatest, &memory.best_norm, &memory.sum,
                                    &memory.log_sum, &memory.scale, &memory.guess}) {
    vector->grow(panel_stride);
  }
  if (memory.members.size() < team) memory.members.resize(team);
  for (member_memory<T>& member : memory.members) {
    if (mixture.wide()) {
      member.listed.grow(panel_stride);
      member.centred.grow(most_lane_rows * tile_columns<T>());
      member.sums.grow(wide_sums<T>::size(mixture.components, mixture.columns));
      member.origin.grow(mixture.columns);
      member.near.grow(mixture.components);
      member.touched.grow(mixture.components);
      member.weight.grow(mixture.components);
    } else {
      member.centred.grow((mixture.columns + 1) * panel_stride);
    }
    member.responsibility.grow((mixture.has_matrices() ? 1 : std::max(diagonal_components, wide_components)) *
                               panel_stride);
    member.rows.grow(panel_stride);
    member.group.grow(mixture.columns * expectation_vectors * hn::Lanes(d));
    member.sums.grow((most_small_order * (most_small_order + 1) / 2 + 3) * hn::Lanes(d));
  }
}

template <class T>
std::size_t padded_rows(std::size_t rows) {
  return round_up(rows, hn::Lanes(hn::ScalableTag<T>()));
}

// Rows that are taken at once, a divisor of block_rows: of wide rows so few that they stay in the second cache, and
// that their sums stay in their own scalar.
template <class T>
std::size_t rows_at_once(const mixture_view<T>& mixture) {
  if (!mixture.wide()) return block_rows;
  std::size_t rows = most_lane_rows;
  while (rows > least_wide_rows && rows * mixture.columns * sizeof(T) > most_wide_bytes) rows /= 2;
  return rows;
}

// With `extents` their largest values, too, which find_far_rows asks for.
template <class T>
void load_block(const mixture_view<T>& mixture, const block_view<T>& block, bool extents, block_memory<T>& memory) {
  const std::size_t rows = block.rows.rows();
  const std::size_t padded = padded_rows<T>(rows);
  if (mixture.wide()) {
    for (std::size_t r = 0; r < rows; ++r) memory.rows[r] = block.rows.row(r);
    std::fill(memory.rows.data() + rows, memory.rows.data() + panel_stride, memory.blank.data());
  } else {
    transpose<T>(block.rows, nullptr, rows, memory.blank.data(), memory.panel.data());
  }
  if (block.weights == nullptr) {
    std::fill_n(memory.weights.data(), rows, T{1});
  } else {
    std::copy_n(block.weights, rows, memory.weights.data());
  }
  std::fill(memory.weights.data() + rows, memory.weights.data() + padded, T{0});
  if constexpr (sizeof(T) == 4) {
    if (!extents) {
      std::fill_n(memory.extent.data(), padded, T{0});
    } else if (mixture.wide()) {
      for (std::size_t r = 0; r < padded; ++r) memory.extent[r] = wide_extent(memory.rows[r], mixture.columns);
    } else {
      row_extents(memory.panel.data(), block.rows.columns(), padded, memory.extent.data());
    }
  }
}

// ‖y‖² of all of a block's wide rows under the components first, first + step, …
template <class T>
void wide_block_norms(const mixture_view<T>& mixture, std::size_t rows, std::size_t first, std::size_t step,
                      block_memory<T>& memory) {
  const std::size_t padded = round_up(padded_rows<T>(rows), 4);
  for (std::size_t k = first; k < mixture.components; k += 2 * step) {
    const bool two = k + step < mixture.components;
    const component_view<T> a = mixture.component(k), b = mixture.component(two ? k + step : k);
    T* const norms_a = memory.terms.data() + k * panel_stride;
    T* const norms_b = norms_a + (two ? step * panel_stride : 0);
    for (std::size_t r = 0; r < padded; r += 4) {
      if (two) {
        wide_norms<2>(memory.rows.data() + r, a, b, norms_a + r, norms_b + r);
      } else {
        wide_norms<1>(memory.rows.data() + r, a, b, norms_a + r, norms_b + r);
      }
    }
  }
}

// ‖y‖² of `vectors` vectors of rows, which start at `first`, under component k, whose covariance is diagonal.
template <class T>
HWY_INLINE void component_diagonal_norms(const mixture_view<T>& mixture, std::size_t k, std::size_t first,
                                         std::size_t vectors, block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const component_view<T> component = mixture.component(k);
  const T* panel = memory.panel.data() + first;
  T* norms = memory.terms.data() + k * panel_stride + first;
  for (; vectors >= 4; vectors -= 4, panel += 4 * lanes, norms += 4 * lanes) {
    diagonal_group<1, decltype(d), T>(d, panel, component, component, norms, nullptr);
  }
  for (; vectors > 0; --vectors, panel += lanes, norms += lanes) diagonal_norm(d, panel, component, norms);
}

// The same of all rows under the components first, first + step, … Of many columns a few rows under all components,
// then the next rows, for the block would not stay in the cache from one component to another.
template <class T>
void diagonal_norms(const mixture_view<T>& mixture, std::size_t rows, std::size_t first, std::size_t step,
                    block_memory<T>& memory) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), vectors = padded_rows<T>(rows) / lanes;
  if (mixture.columns < least_shared_columns) {
    for (std::size_t k = first; k < mixture.components; k += step) {
      component_diagonal_norms(mixture, k, 0, vectors, memory);
      prefetch_next(memory, k, mixture.components);
    }
    return;
  }
  for (std::size_t v = 0; v < vectors; v += 4) {
    std::size_t k = first;
    for (; v + 4 <= vectors && k + step < mixture.components; k += 2 * step) {
      T* const norms = memory.terms.data() + k * panel_stride + v * lanes;
      diagonal_group<2>(d, memory.panel.data() + v * lanes, mixture.component(k), mixture.component(k + step), norms,
                        norms + step * panel_stride);
    }
    for (; k < mixture.components; k += step) {
      component_diagonal_norms(mixture, k, v * lanes, std::min<std::size_t>(4, vectors - v), memory);
    }
    if (first == 0) prefetch_next(memory, v / 4, (vectors + 3) / 4);
  }
}

// Responsibilities of the block under the mixture; those below exp(−cut) are zero.
template <class T>
void posterior(const mixture_view<T>& mixture, const block_view<T>& block, double cut, const team_member& member,
               block_memory<T>& memory) {
  const std::size_t rows = block.rows.rows();
  member_memory<T>& own = memory.members[member.rank()];
  if (member.size() == 1 && mixture.has_matrices() && mixture.columns >= least_prune_columns &&
      mixture.components > 1) {
    pruned_norms(mixture, block.rows, cut, memory, own);
  } else if (mixture.has_matrices()) {
    for (std::size_t k = member.rank(); k < mixture.components; k += member.size()) {
      matrix_norms(memory.panel.data(), rows, mixture.component(k), 0, mixture.columns, own.group.data(),
                   memory.terms.data() + k * panel_stride);
      prefetch_next(memory, k, mixture.components);
    }
  } else if (mixture.wide()) {
    wide_block_norms(mixture, rows, member.rank(), member.size(), memory);
  } else {
    diagonal_norms(mixture, rows, member.rank(), member.size(), memory);
  }
  member.wait();
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const std::size_t vectors = padded_rows<T>(rows) / lanes;
  normalise(mixture.packed->log_constants.data(), mixture.components, member.rank() * vectors / member.size() * lanes,
            (member.rank() + 1) * vectors / member.size() * lanes, static_cast<T>(cut), memory);
  member.wait();
}

// Σ w and Σ w ln p of a block, in float64. Several sums side by side, because one would wait for its own additions.
template <class T>
double block_weight(std::size_t rows, const block_memory<T>& memory) {
  const T* const weights = memory.weights.data();
  double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    sum0 += static_cast<double>(weights[r]);
    sum1 += static_cast<double>(weights[r + 1]);
    sum2 += static_cast<double>(weights[r + 2]);
    sum3 += static_cast<double>(weights[r + 3]);
  }
  if (r < rows) sum0 += static_cast<double>(weights[r]);
  if (r + 1 < rows) sum1 += static_cast<double>(weights[r + 1]);
  if (r + 2 < rows) sum2 += static_cast<double>(weights[r + 2]);
  return (sum0 + sum1) + (sum2 + sum3);
}

template <class T>
double block_log_likelihood(const mixture_view<T>& mixture, std::size_t rows, const block_memory<T>& memory) {
  const hn::ScalableTag<double> d;
  auto log_likelihood = hn::Zero(d);
  auto weight = hn::Zero(d);
  // Beyond the rows weights are zero and logarithms finite, up to a whole vector of T.
  for (std::size_t r = 0; r < rows; r += hn::Lanes(d)) {
    const auto row_weight = load_double(d, memory.weights.data() + r);
    const auto log_density =
        hn::Add(load_double(d, memory.greatest.data() + r), load_double(d, memory.log_sum.data() + r));
    weight = hn::Add(weight, row_weight);
    // A row that weighs nothing may have a density of zero.
    const auto counted = hn::IfThenElseZero(hn::Gt(row_weight, hn::Zero(d)), log_density);
    log_likelihood = hn::MulAdd(row_weight, counted, log_likelihood);
  }
  return hn::GetLane(hn::SumOfLanes(d, log_likelihood)) +
         hn::GetLane(hn::SumOfLanes(d, weight)) * mixture.packed->log_shift;
}

// The rows whose component k has a responsibility above zero: their weighted responsibilities (matrices: the roots)
// in `responsibility` and, when they are few, their indices in own.rows. Returns how many rows `responsibility`
// holds; `compact` says whether own.rows names them. Decided by the count alone, so that it never depends on threads.
template <class T>
std::size_t component_rows(const T* HWY_RESTRICT terms, bool root, double share, std::size_t rows,
                           const block_memory<T>& memory, T* HWY_RESTRICT responsibility, member_memory<T>& own,
                           bool& compact) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const T* HWY_RESTRICT const scale = memory.scale.data();
  std::size_t count = 0;
  for (std::size_t r = 0; r < rows; r += lanes) {
    auto value = hn::Mul(hn::Load(d, terms + r), hn::Load(d, scale + r));
    count += hn::CountTrue(d, hn::Gt(value, hn::Zero(d)));
    if (root) value = hn::Sqrt(value);
    hn::Store(value, d, responsibility + r);
  }
  compact = static_cast<double>(count) <= share * static_cast<double>(rows);
  if (!compact) return rows;
  // Also of the root: it is zero where its square is.
  std::uint64_t positive[block_rows / 64] = {};
  for (std::size_t r = 0; r < rows; r += lanes) {
    positive[r / 64] |= mask_bits(d, hn::Gt(hn::Load(d, responsibility + r), hn::Zero(d))) << (r % 64);
  }
  list_bits(positive, own.rows.data());
  for (std::size_t i = 0; i < count; ++i) responsibility[i] = responsibility[own.rows[i]];
  std::fill(responsibility + count, responsibility + round_up(count, lanes), T{0});
  return count;
}

// Adds the block's sums of component k, which has a matrix.
template <class T>
void component_moments(const mixture_view<T>& mixture, const block_view<T>& block, std::size_t k,
                       const team_member& member, const block_memory<T>& memory, member_memory<T>& own,
                       statistics& into) {
  const statistics_layout& layout = into.layout();
  bool compact = false;
  const std::size_t rows = component_rows(memory.terms.data() + k * panel_stride, true, compact_share,
                                          block.rows.rows(), memory, own.responsibility.data(), own, compact);
  if (rows == 0) return;
  const T* panel = memory.panel.data();
  if (compact) {
    transpose<T>(block.rows, own.rows.data(), rows, memory.blank.data(), own.centred.data());
    panel = own.centred.data();
  }
  double* const values = into.values().data();
  const T* const centre = mixture.moment_centres + k * mixture.columns;
  centre_rows(panel, rows, mixture.columns, centre, own.responsibility.data(), own.centred.data());
  if (mixture.covariance_type == covariance_type::full && mixture.columns < most_small_order) {
    small_triangle_moments(own.centred.data(), rows, mixture.columns + 1, own.sums.data(),
                           values + layout.component(k));
  } else if (mixture.covariance_type == covariance_type::full) {
    const triangle_sink sink{values + layout.component(k), mixture.columns + 1, nullptr};
    triangle_moments(own.centred.data(), rows, mixture.columns + 1, 0, 1, sink);
  } else {
    const triangle_sink sink{values + layout.shared(), mixture.columns, values + layout.component(k)};
    triangle_moments(own.centred.data(), rows, mixture.columns + 1, member.rank(), member.size(), sink);
  }
}

// Adds the block's sums of the components first, first + step, …, whose covariances are diagonal. A few columns of
// several components, then the next columns, for the same reason as in diagonal_norms.
template <class T>
void diagonal_moments(const mixture_view<T>& mixture, const block_view<T>& block, std::size_t first, std::size_t step,
                      const block_memory<T>& memory, member_memory<T>& own, statistics& into) {
  const statistics_layout& layout = into.layout();
  double* const values = into.values().data();
  diagonal_sums<T> together[diagonal_components];
  const std::size_t most = mixture.columns < least_shared_columns ? 1 : diagonal_components;
  for (std::size_t k = first; k < mixture.components;) {
    std::size_t count = 0;
    for (; k < mixture.components && count < most; k += step) {
      T* const responsibility = own.responsibility.data() + count * panel_stride;
      bool compact = false;
      const std::size_t rows = component_rows(memory.terms.data() + k * panel_stride, false, compact_share_diagonal,
                                              block.rows.rows(), memory, responsibility, own, compact);
      if (rows == 0) continue;
      const diagonal_sums<T> sums{mixture.moment_centres + k * mixture.columns, responsibility,
                                  values + layout.component(k)};
      if (compact) {
        transpose<T>(block.rows, own.rows.data(), rows, memory.blank.data(), own.centred.data());
        add_diagonals(own.centred.data(), rows, mixture.columns, &sums, 1);
      } else {
        together[count++] = sums;
      }
    }
    add_diagonals(memory.panel.data(), block.rows.rows(), mixture.columns, together, count);
  }
}

// The same for wide rows, in the member's own sums, which finish_moments adds to the statistics.
template <class T>
void wide_block_moments(const mixture_view<T>& mixture, std::size_t rows, std::size_t first, std::size_t step,
                        const block_memory<T>& memory, member_memory<T>& own) {
  const wide_sums<T> sums{own.sums.data(), mixture.components, mixture.columns};
  wide_component<T> together[wide_components];
  for (std::size_t k = first; k < mixture.components;) {
    std::size_t count = 0;
    for (; k < mixture.components && count < wide_components; k += step) {
      T* const responsibility = own.responsibility.data() + count * panel_stride;
      bool compact = false;
      const std::size_t held = component_rows(memory.terms.data() + k * panel_stride, false, compact_share_wide, rows,
                                              memory, responsibility, own, compact);
      if (held == 0) continue;
      if (own.touched[k] == 0) {
        clear_wide(sums, k);
        own.touched[k] = 1;
        own.weight[k] = 0;
      }
      own.weight[k] += sum_rows(responsibility, held);
      const bool near = own.near[k] != 0;
      const wide_component<T> of{k, near ? own.origin.data() : mixture.moment_centres + k * mixture.columns,
                                 responsibility};
      if (compact) {
        for (std::size_t i = 0; i < held; ++i) own.listed[i] = memory.rows[own.rows[i]];
        add_listed_rows(own.listed.data(), held, of, sums);
      } else if (near) {
        together[count++] = of;
      } else {
        add_listed_rows(memory.rows.data(), held, of, sums);
      }
    }
    // The next rows are asked for beside sums that need nothing else of what lies beyond the first cache.
    bytes_ahead ahead{reinterpret_cast<const char*>(memory.blank.data()), 0};
    if (first == 0 && k >= mixture.components && memory.next_bytes > 0) {
      ahead = {memory.next_rows, memory.next_bytes / ((count + 1) / 2 * tile_count<T>(mixture.columns) * rows + 1)};
    }
    add_shared_rows(memory.rows.data(), rows, own.origin.data(), together, count, sums, own.centred.data(), ahead);
  }
}

// What comes before the moments of the rows of one block, and after them.
template <class T>
void start_moments(const mixture_view<T>& mixture, member_memory<T>& own) {
  if (!mixture.wide()) return;
  find_origin(mixture.moment_centres, mixture.components, mixture.columns, own.origin.data());
  for (std::size_t k = 0; k < mixture.components; ++k) {
    const T* const centre = mixture.moment_centres + k * mixture.columns;
    // Given responsibilities come without deviations.
    const bool near = mixture.packed->factors.size() > 0 &&
                      lies_near(centre, own.origin.data(), mixture.component(k).factor, mixture.columns);
    own.near[k] = near ? 1 : 0;
  }
  std::fill_n(own.touched.data(), mixture.components, static_cast<unsigned char>(0));
}
template <class T>
void finish_moments(const mixture_view<T>& mixture, member_memory<T>& own, statistics& into) {
  if (!mixture.wide()) return;
  const wide_sums<T> sums{own.sums.data(), mixture.components, mixture.columns};
  for (std::size_t k = 0; k < mixture.components; ++k) {
    if (own.touched[k] == 0) continue;
    double* const values = into.values().data() + into.layout().component(k);
    const T* const centre = mixture.moment_centres + k * mixture.columns;
    values[0] += own.weight[k];
    flush_wide(sums, wide_component<T>{k, centre, nullptr}, own.near[k] != 0 ? own.origin.data() : centre,
               own.weight[k], values + 1);
  }
}

// Adds the block's sums of all components. Members of a team take components by turns; what tied components share is
// cut by tiles instead, so that no two members write the same sum.
template <class T>
void moments(const mixture_view<T>& mixture, const block_view<T>& block, const team_member& member,
             block_memory<T>& memory, statistics& into) {
  if (mixture.wide()) {
    wide_block_moments(mixture, block.rows.rows(), member.rank(), member.size(), memory, memory.members[member.rank()]);
    return;
  }
  if (!mixture.has_matrices()) {
    diagonal_moments(mixture, block, member.rank(), member.size(), memory, memory.members[member.rank()], into);
    return;
  }
  const bool by_tiles = mixture.covariance_type == covariance_type::tied;
  for (std::size_t k = by_tiles ? 0 : member.rank(); k < mixture.components; k += by_tiles ? 1 : member.size()) {
    component_moments(mixture, block, k, member, memory, memory.members[member.rank()], into);
  }
}

}  // namespace shoal::gmm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
