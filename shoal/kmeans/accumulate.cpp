#include <shoal/kmeans/accumulate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include <shoal/core/simd_targets.hpp>
#include <shoal/kmeans/block_input.hpp>
#include <shoal/kmeans/tuning.hpp>
#include <shoal/random/stream.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/kmeans/accumulate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <shoal/kmeans/fused_pass-inl.hpp>
#include <shoal/kmeans/row_sums-inl.hpp>

#ifndef SHOAL_KMEANS_ACCUMULATE_ONCE
#define SHOAL_KMEANS_ACCUMULATE_ONCE
namespace shoal::kmeans {

// What rounding may have done to a row's bound and distance: a row's label is certain when
// distance · factor < (bound · less − taken)².
template <class Scalar>
struct bound_margins {
  Scalar taken;
  Scalar factor;
  Scalar less;
};

}  // namespace shoal::kmeans
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::kmeans {
namespace HWY_NAMESPACE {
namespace {

// Labels in as many bits as the lanes of a scalar.
template <class DI>
HWY_INLINE hn::Vec<DI> load_labels(DI di, const std::int32_t* from) {
  if constexpr (sizeof(hn::TFromD<DI>) == 4) {
    return hn::LoadU(di, from);
  } else {
    return hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::int32_t, DI>(), from));
  }
}

// Appends first + lane to `list` for every lane of the mask; returns how many. May write a whole vector.
template <class DI, class M>
HWY_INLINE std::size_t append_lanes(DI di, M mask, std::size_t first, std::int32_t* list) {
  if constexpr (sizeof(hn::TFromD<DI>) == 4) {
    hn::StoreU(hn::Compress(hn::Iota(di, static_cast<std::int32_t>(first)), mask), di, list);
    return hn::CountTrue(di, mask);
  } else {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(di, mask, bits);
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < hn::Lanes(di); ++lane) {
      list[count] = static_cast<std::int32_t>(first + lane);
      count += bits[0] >> lane & 1;
    }
    return count;
  }
}

// Σ label · r mod 2³², for two tables of random words r, as one word.
HWY_INLINE std::uint64_t hash_labels_with(const std::int32_t* labels, std::size_t count, const std::uint32_t* table) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* words = reinterpret_cast<const std::uint32_t*>(labels);
  auto low = hn::Zero(d), high = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto label = hn::LoadU(d, words + i);
    low = hn::Add(low, hn::Mul(label, hn::LoadU(d, table + i)));
    high = hn::Add(high, hn::Mul(label, hn::LoadU(d, table + block_rows + i)));
  }
  std::uint32_t low_sum = hn::GetLane(hn::SumOfLanes(d, low)), high_sum = hn::GetLane(hn::SumOfLanes(d, high));
  for (; i < count; ++i) {
    low_sum += words[i] * table[i];
    high_sum += words[i] * table[block_rows + i];
  }
  return static_cast<std::uint64_t>(high_sum) << 32 | low_sum;
}

// Copies the listed rows, one behind the other. Not by calls of memmove, which take longer than a short row.
template <class T>
HWY_INLINE void pack_rows_with(matrix_view<const T> rows, const std::int32_t* list, std::size_t count,
                               T* HWY_RESTRICT packed) {
  const hn::ScalableTag<T> d;
  const std::size_t columns = rows.columns(), lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; ++i, packed += columns) {
    const T* HWY_RESTRICT const from = rows.row(static_cast<std::size_t>(list[i]));
    std::size_t j = 0;
    for (; j + lanes <= columns; j += lanes) hn::StoreU(hn::LoadU(d, from + j), d, packed + j);
    for (; j < columns; ++j) packed[j] = from[j];
  }
}

// Brings the bounds of rows whose label is certain up to date, and lists the other rows. A vector more than the rows
// may be written to the list.
template <class T>
HWY_INLINE std::size_t list_doubtful_with(const row_memory<T>& remembered, const bound_margins<T>& margins,
                                          const std::int32_t* labels, const T* distances, std::size_t rows, T* others,
                                          std::int32_t* list) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  using I = hn::TFromD<decltype(di)>;
  const std::size_t lanes = hn::Lanes(d);
  const auto runner = hn::Set(di, static_cast<I>(remembered.runner));
  std::size_t count = 0, i = 0;
  for (; i + lanes <= rows; i += lanes) {
    const auto runs = hn::RebindMask(d, hn::Eq(load_labels(di, labels + i), runner));
    const auto drift = hn::IfThenElse(runs, hn::Set(d, remembered.second), hn::Set(d, remembered.farthest));
    const auto before = hn::LoadU(d, others + i);
    const auto bound = hn::Mul(hn::Sub(before, drift), hn::Set(d, margins.less));
    const auto room = hn::Max(hn::Sub(bound, hn::Set(d, margins.taken)), hn::Zero(d));
    const auto distance = hn::Mul(hn::LoadU(d, distances + i), hn::Set(d, margins.factor));
    const auto certain = hn::Lt(distance, hn::Mul(room, room));
    hn::StoreU(hn::IfThenElse(certain, bound, before), d, others + i);
    const auto doubtful = hn::Not(hn::RebindMask(di, certain));
    count += append_lanes(di, doubtful, i, list + count);
  }
  for (; i < rows; ++i) {
    const T drift = labels[i] == remembered.runner ? remembered.second : remembered.farthest;
    const T bound = (others[i] - drift) * margins.less;
    const T room = bound - margins.taken;
    if (room > 0 && distances[i] * margins.factor < room * room) {
      others[i] = bound;
    } else {
      list[count++] = static_cast<std::int32_t>(i);
    }
  }
  return count;
}

}  // namespace

double add_rows_float(const block_input<float>& block, const std::int32_t* labels, std::size_t clusters,
                      const double* centroids, double* weights, double* sums, std::size_t rank, std::size_t members) {
  return add_share(block, labels, clusters, centroids, weights, sums, rank, members);
}
double add_rows_double(const block_input<double>& block, const std::int32_t* labels, std::size_t clusters,
                       const double* centroids, double* weights, double* sums, std::size_t rank, std::size_t members) {
  return add_share(block, labels, clusters, centroids, weights, sums, rank, members);
}
double measure_rows_float(const block_input<float>& block, const std::int32_t* labels, std::size_t clusters,
                          const double* centroids) {
  return measure_share(block, labels, clusters, centroids);
}
double measure_rows_double(const block_input<double>& block, const std::int32_t* labels, std::size_t clusters,
                           const double* centroids) {
  return measure_share(block, labels, clusters, centroids);
}
std::size_t list_doubtful_float(const row_memory<float>& remembered, const bound_margins<float>& margins,
                                const std::int32_t* labels, const float* distances, std::size_t rows, float* others,
                                std::int32_t* list) {
  return list_doubtful_with(remembered, margins, labels, distances, rows, others, list);
}
std::size_t list_doubtful_double(const row_memory<double>& remembered, const bound_margins<double>& margins,
                                 const std::int32_t* labels, const double* distances, std::size_t rows, double* others,
                                 std::int32_t* list) {
  return list_doubtful_with(remembered, margins, labels, distances, rows, others, list);
}
void pack_rows_float(matrix_view<const float> rows, const std::int32_t* list, std::size_t count, float* packed) {
  pack_rows_with(rows, list, count, packed);
}
void pack_rows_double(matrix_view<const double> rows, const std::int32_t* list, std::size_t count, double* packed) {
  pack_rows_with(rows, list, count, packed);
}
bool add_fused_float(const prepared_centroids<float>& centroids, const block_input<float>& block, std::int32_t* labels,
                     statistics& into) {
  return add_fused_with(centroids, block, labels, into);
}
bool add_fused_double(const prepared_centroids<double>& centroids, const block_input<double>& block,
                      std::int32_t* labels, statistics& into) {
  return add_fused_with(centroids, block, labels, into);
}
std::uint64_t hash_labels(const std::int32_t* labels, std::size_t count, const std::uint32_t* table) {
  return hash_labels_with(labels, count, table);
}

}  // namespace HWY_NAMESPACE
}  // namespace shoal::kmeans
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::kmeans {
namespace {

HWY_EXPORT(add_rows_float);
HWY_EXPORT(add_rows_double);
HWY_EXPORT(list_doubtful_float);
HWY_EXPORT(list_doubtful_double);
HWY_EXPORT(pack_rows_float);
HWY_EXPORT(pack_rows_double);
HWY_EXPORT(measure_rows_float);
HWY_EXPORT(measure_rows_double);
HWY_EXPORT(add_fused_float);
HWY_EXPORT(add_fused_double);
HWY_EXPORT(hash_labels);

// Random words, one pair for each row of a block.
const std::array<std::uint32_t, 2 * block_rows>& hash_table() {
  static const auto table = [] {
    std::array<std::uint32_t, 2 * block_rows> words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(random::mix(i, 0) >> 32);
    return words;
  }();
  return table;
}

// A sum over blocks of (odd random word of the block) · (hash of its labels): linear in the labels with random
// coefficients, so that a change of labels goes unseen with a probability of about 2⁻⁶⁰.
std::uint64_t fingerprint_of(const std::int32_t* labels, std::size_t count, std::size_t first) {
  return (random::mix(first / block_rows, 1) | 1) *
         HWY_DYNAMIC_DISPATCH(hash_labels)(labels, count, hash_table().data());
}

double add_rows(const block_input<float>& block, const std::int32_t* labels, const double* centroids, statistics& into,
                const team_member& member) {
  return HWY_DYNAMIC_DISPATCH(add_rows_float)(block, labels, into.weights.size(), centroids, into.weights.data(),
                                              into.sums.data(), member.rank(), member.size());
}
double add_rows(const block_input<double>& block, const std::int32_t* labels, const double* centroids, statistics& into,
                const team_member& member) {
  return HWY_DYNAMIC_DISPATCH(add_rows_double)(block, labels, into.weights.size(), centroids, into.weights.data(),
                                               into.sums.data(), member.rank(), member.size());
}
double measure_rows(const block_input<float>& block, const std::int32_t* labels, std::size_t clusters,
                    const double* centroids) {
  return HWY_DYNAMIC_DISPATCH(measure_rows_float)(block, labels, clusters, centroids);
}
double measure_rows(const block_input<double>& block, const std::int32_t* labels, std::size_t clusters,
                    const double* centroids) {
  return HWY_DYNAMIC_DISPATCH(measure_rows_double)(block, labels, clusters, centroids);
}
std::size_t list_doubtful(const row_memory<float>& remembered, const bound_margins<float>& margins,
                          const std::int32_t* labels, const float* distances, std::size_t rows, float* others,
                          std::int32_t* list) {
  return HWY_DYNAMIC_DISPATCH(list_doubtful_float)(remembered, margins, labels, distances, rows, others, list);
}
std::size_t list_doubtful(const row_memory<double>& remembered, const bound_margins<double>& margins,
                          const std::int32_t* labels, const double* distances, std::size_t rows, double* others,
                          std::int32_t* list) {
  return HWY_DYNAMIC_DISPATCH(list_doubtful_double)(remembered, margins, labels, distances, rows, others, list);
}
void pack_rows(matrix_view<const float> rows, const std::int32_t* list, std::size_t count, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_rows_float)(rows, list, count, packed);
}
void pack_rows(matrix_view<const double> rows, const std::int32_t* list, std::size_t count, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_rows_double)(rows, list, count, packed);
}
bool add_fused(const prepared_centroids<float>& centroids, const block_input<float>& block, std::int32_t* labels,
               statistics& into) {
  return HWY_DYNAMIC_DISPATCH(add_fused_float)(centroids, block, labels, into);
}
bool add_fused(const prepared_centroids<double>& centroids, const block_input<double>& block, std::int32_t* labels,
               statistics& into) {
  return HWY_DYNAMIC_DISPATCH(add_fused_double)(centroids, block, labels, into);
}

constexpr std::size_t label_slack = 64;  // a vector of labels may be stored beyond the last row

template <class Scalar>
block_input<Scalar> middle(const row_block<Scalar>& piece, std::size_t first, std::size_t count) {
  return {piece.rows.middle_rows(first, count), piece.weights == nullptr ? nullptr : piece.weights + first};
}

// Few clusters and columns, one thread: assignment and sums in one pass.
template <class Scalar>
void fold_fused(const accumulate_body<Scalar>& body, const row_block<Scalar>& piece,
                typename accumulate_body<Scalar>::scratch& memory, statistics& into) {
  const team_member alone(0, 0, 1, nullptr);  // whoever else is in the team has nothing to do here
  const std::size_t columns = piece.rows.columns();
  memory.labels.grow(block_rows + label_slack);
  memory.members.resize(std::max<std::size_t>(memory.members.size(), 1));
  aligned_buffer<Scalar>& packed = memory.members.front().packed;
  packed.grow(block_rows * columns);
  for (std::size_t first = 0; first < piece.rows.rows(); first += block_rows) {
    const std::size_t count = std::min(block_rows, piece.rows.rows() - first);
    block_input<Scalar> block = middle(piece, first, count);
    if (block.rows.row_stride() != columns) {
      for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(block.rows.row(i), columns, packed.data() + i * columns);
      }
      block.rows = {packed.data(), count, columns};
    }
    if (!add_fused(*body.centroids, block, memory.labels.data(), into)) {
      into.inertia += add_rows(block, memory.labels.data(), body.centroids->values(), into, alone);
    }
    into.fingerprint += fingerprint_of(memory.labels.data(), count, piece.first + first);
    if (body.labels != nullptr) std::copy_n(memory.labels.data(), count, body.labels + piece.first + first);
  }
}

}  // namespace

template <class Scalar>
void prepared_centroids<Scalar>::set(std::span<const double> centroids, std::size_t clusters, std::size_t columns,
                                     std::size_t rows, executor* workers, std::span<const Scalar> origin,
                                     bool few_compared) {
  values_.assign(centroids.begin(), centroids.end());
  rounded_.resize(values_.size());
  index_.set(centroids, clusters, columns, rows, workers, origin, few_compared);
  double largest = 0;
  for (std::size_t k = 0; k < clusters; ++k) {
    double norm = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      const double value = centroids[k * columns + j];
      rounded_[k * columns + j] = static_cast<Scalar>(value);
      norm += value * value;
    }
    largest = std::max(largest, norm);
  }
  largest_norm_ = std::sqrt(largest);
  fused_ = clusters <= most_fused_clusters && columns <= most_fused_columns &&
           largest_norm_ < static_cast<double>(std::numeric_limits<Scalar>::max() / 4);
  if (!fused_) return;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < clusters; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      double squared = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        squared += (values_[a * columns + j] - values_[b * columns + j]) *
                   (values_[a * columns + j] - values_[b * columns + j]);
      }
      least = std::min(least, squared);
    }
  }
  half_gap_ = std::isfinite(least) ? std::sqrt(least) / 2 : 1;
}

namespace {

// Labels of rows that are remembered. A row keeps its label when its own centroid is nearer than any other can have
// become; the others are compared with all centroids. `following` are the rows of the next call.
template <class Scalar>
void assign_remembered(const prepared_centroids<Scalar>& centroids, matrix_view<const Scalar> rows,
                       matrix_view<const Scalar> following, const kept_panels& kept_bytes, std::int32_t* labels,
                       Scalar* others, const row_memory<Scalar>& remembered,
                       typename accumulate_body<Scalar>::member_scratch& memory) {
  const std::size_t columns = rows.columns();
  const auto share = !memory.nearest.by_bytes       ? worthwhile_share
                     : kept_bytes.packed == nullptr ? worthwhile_share_by_bytes
                                                    : worthwhile_share_by_kept_bytes;
  const double worthwhile = share(centroids.clusters(), columns);
  if (!remembered.known || memory.hopeless > 0 || worthwhile > most_worthwhile_share) {
    memory.hopeless -= memory.hopeless > 0;
    return find_nearest(centroids.index(), rows, labels, memory.nearest, others, {}, kept_bytes);
  }
  memory.distances.grow(rows.rows());
  distances_to_labels<Scalar>(rows, {centroids.rounded(), centroids.clusters(), columns}, labels,
                              memory.distances.data());

  // Everything that rounding could have done is taken off the bound (a rounded centroid is moved by at most unit · its
  // norm; squares may have been lost below the normal numbers) or multiplied onto the distance.
  const double unit = static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2;
  const auto d = static_cast<double>(columns);
  bound_margins<Scalar> margins;
  margins.taken = static_cast<Scalar>(1.01 * (unit * centroids.largest_norm() +
                                              std::sqrt(d * static_cast<double>(std::numeric_limits<Scalar>::min()))));
  margins.factor = static_cast<Scalar>(1 + 1e-5 + 4 * (d + 8) * unit);
  margins.less = static_cast<Scalar>(1 - 4 * unit);
  memory.doubtful.grow(rows.rows() + label_slack);
  const std::size_t count =
      list_doubtful(remembered, margins, labels, memory.distances.data(), rows.rows(), others, memory.doubtful.data());
  const std::int32_t* const doubtful = memory.doubtful.data();
  const double kept = static_cast<double>(rows.rows() - count) / static_cast<double>(rows.rows());
  if (kept < worthwhile) memory.hopeless = hopeless_slabs;
  if (count == 0) return;
  memory.packed.grow(count * columns);
  memory.others.grow(count);
  memory.labels.grow(count);
  pack_rows(rows, doubtful, count, memory.packed.data());
  // The next look at bounds would wait for its rows, which come from memory while these are searched in the cache.
  const bool ask = memory.hopeless == 0 && following.row_stride() == columns;
  const std::span<const Scalar> ahead(following.data(), ask ? following.rows() * columns : 0);
  find_nearest<Scalar>(centroids.index(), {memory.packed.data(), count, columns}, memory.labels.data(), memory.nearest,
                       memory.others.data(), ahead);
  for (std::size_t i = 0; i < count; ++i) {
    labels[doubtful[i]] = memory.labels[i];
    others[doubtful[i]] = memory.others[i];
  }
}

// Labels of rows that have a bound for each centroid.
template <class Scalar>
void assign_by_pairs(const prepared_centroids<Scalar>& centroids, matrix_view<const Scalar> rows, std::size_t following,
                     std::size_t first, std::int32_t* labels, pair_memory& pairs,
                     typename accumulate_body<Scalar>::member_scratch& memory) {
  if constexpr (sizeof(Scalar) == 4) {
    if (pairs.labelled && pairs.rows.unit() > 0) {
      if (pairs.rows.forgotten()) pairs.rows.clear_bounds(first, rows.rows());
      const auto norm = static_cast<float>(centroids.largest_norm() * 1.0001);
      const bounded_call call{&centroids.index(), &pairs.centroids, centroids.rounded(), norm, rows, first, following};
      const std::size_t doubts = find_nearest_bounded(call, labels, pairs.rows, memory.bounded);
      if (doubts == 0) return;
      const std::size_t columns = rows.columns();
      const std::int32_t* const doubtful = memory.bounded.doubtful.data();
      memory.packed.grow(doubts * columns);
      memory.labels.grow(doubts);
      pack_rows(rows, doubtful, doubts, memory.packed.data());
      find_nearest<Scalar>(centroids.index(), {memory.packed.data(), doubts, columns}, memory.labels.data(),
                           memory.nearest);
      for (std::size_t i = 0; i < doubts; ++i) labels[doubtful[i]] = memory.labels[i];
      return;
    }
  }
  find_nearest(centroids.index(), rows, labels, memory.nearest);
}

}  // namespace

template <class Scalar>
void accumulate_body<Scalar>::operator()(const row_block<Scalar>& piece, const team_member& member, scratch& memory,
                                         statistics& into) const {
  if (centroids->fused()) {
    if (member.rank() == 0) fold_fused(*this, piece, memory, into);
    return;
  }
  const std::size_t slab = member.size() > 1 ? piece.rows.rows() : pairs != nullptr ? block_rows : slab_rows;
  if (member.rank() == 0) {
    memory.members.resize(std::max(memory.members.size(), member.size()));
    memory.labels.grow(std::min(slab, piece.rows.rows()));
    memory.inertia.resize((std::min(slab, piece.rows.rows()) + block_rows - 1) / block_rows);
  }
  member.wait();
  for (std::size_t start = 0; start < piece.rows.rows(); start += slab) {
    const std::size_t rows = std::min(slab, piece.rows.rows() - start);
    const std::size_t begin = member.rank() * rows / member.size(), end = (member.rank() + 1) * rows / member.size();
    const auto share = piece.rows.middle_rows(start + begin, end - begin);
    member_scratch& mine = memory.members[member.rank()];
    const bool known = remembered != nullptr && piece.first + start + rows <= remembered->rows;
    // Panels are of whole slabs, of which members of a team have parts.
    const kept_panels kept =
        bytes != nullptr && member.size() == 1 ? bytes->of(piece.first + start, rows) : kept_panels{};
    const bool bounded = pairs != nullptr && piece.first + start + rows <= pairs->rows.rows();
    std::int32_t* slab_labels = bounded ? pairs->labels.data() + piece.first + start
                                : known ? remembered->labels.data() + piece.first + start
                                        : memory.labels.data();
    if (bounded) {
      const std::size_t following = member.size() == 1 ? piece.rows.rows() - start - rows : 0;
      assign_by_pairs(*centroids, share, following, piece.first + start + begin, slab_labels + begin, *pairs, mine);
    } else if (known) {
      const std::size_t next = start + rows;
      const auto following =
          piece.rows.middle_rows(next, member.size() == 1 ? std::min(slab, piece.rows.rows() - next) : 0);
      assign_remembered(*centroids, share, following, kept, slab_labels + begin,
                        remembered->others.data() + piece.first + start + begin, *remembered, mine);
    } else {
      find_nearest(centroids->index(), share, slab_labels + begin, mine.nearest, {}, {}, kept);
    }
    member.wait();
    for (std::size_t first = 0; first < rows; first += block_rows) {
      const block_input<Scalar> block = middle(piece, start + first, std::min(block_rows, rows - first));
      const std::size_t number = first / block_rows;
      const double inertia = add_rows(block, slab_labels + first, centroids->values(), into, member);
      if (number % member.size() != member.rank()) continue;
      memory.inertia[number] =
          member.size() == 1 ? inertia
                             : measure_rows(block, slab_labels + first, centroids->clusters(), centroids->values());
    }
    member.wait();
    if (member.rank() != 0) continue;
    for (std::size_t first = 0; first < rows; first += block_rows) {
      into.inertia += memory.inertia[first / block_rows];
      into.fingerprint +=
          fingerprint_of(slab_labels + first, std::min(block_rows, rows - first), piece.first + start + first);
    }
    if (labels != nullptr) std::copy_n(slab_labels, rows, labels + piece.first + start);
  }
}

template class prepared_centroids<float>;
template class prepared_centroids<double>;
template struct accumulate_body<float>;
template struct accumulate_body<double>;

}  // namespace shoal::kmeans
#endif
