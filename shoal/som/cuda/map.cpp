#include <shoal/som/cuda/map.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/som/cuda/fold_longer_rows.hpp>
#include <shoal/som/cuda/fold_short_rows.hpp>
#include <shoal/som/cuda/settle_short_rows.hpp>
#include <shoal/som/cuda/sum_by_label.hpp>

namespace shoal::som {
namespace {

// Memory for the least scores of the rows that are searched at one time: those of 10⁵ rows on 100 × 100 units.
constexpr std::size_t minima_bytes = std::size_t{64} << 20;

// Multiprocessors' rounds of rows whose near units are listed at one time, and rounds that lists have room for where
// the units are cut into parts: 208 MB on an H200, if there are so many rows.
constexpr std::size_t listed_rounds = 2, most_listed_rounds = 3;
constexpr int most_unit_parts = 4;

// Rows whose units are kept until they are added by label.
constexpr std::size_t most_labelled_rows = std::size_t{1} << 24;

// Maps of at most so many units are searched for the unit itself, others for the tiles that may have it.
constexpr std::size_t most_decided_units = 256;

// Searches by one float16 number leave a row several units where there are many, or many columns, in whose error more
// is lost: of 100,000 float32 rows × 768 columns on 33 units an epoch takes 0.39 ms on an H200 instead of 0.60 with
// lists of near units, × 1024 0.48 instead of 0.70, of 384 columns on 64 units 0.81 instead of 0.45.
bool few_are_open(std::size_t units, std::size_t columns) {
  return units * columns <= 16384 || (units <= 33 && columns <= 1024);
}

// Units across a patch of the map that is a column of a tile.
constexpr std::size_t patch = 4;

// Bits that hold the magnitude of a sum of fixed numbers, of 63.
constexpr int sum_bits = 60;

// The power of two that values of at most `most` are counted in.
double fixed_scale(double most) {
  return most > 0 ? std::exp2(std::clamp(sum_bits - std::ilogb(most), -1000, 1000)) : 1.0;
}

// The most that a row is apart from the centre, by column.
std::vector<double> reach_of(const std::vector<double>& least, const std::vector<double>& greatest,
                             const std::vector<double>& centre) {
  std::vector<double> reach;
  for (std::size_t j = 0; j < centre.size(); ++j) {
    // Differences are rounded to the scalar: up by less than a thousandth.
    reach.push_back(1.001 * std::max(std::abs(greatest[j] - centre[j]), std::abs(least[j] - centre[j])));
  }
  return reach;
}

double largest_distance(metric metric, const std::vector<double>& reach) {
  double squares = 0, sum = 0, most = 0;
  for (const double one : reach) {
    squares += one * one;
    sum += one;
    most = std::max(most, one);
  }
  switch (metric) {
    case metric::euclidean:
      return std::isfinite(squares) ? std::sqrt(squares) : sum;
    case metric::taxicab:
      return sum;
    case metric::cosine:
      return 2;
    case metric::chebyshev:
      break;
  }
  return most;
}

// The units of a map so that 16 in turn are a patch of 4 × 4 and 64 in turn one of 8 × 8, as far as the sides allow:
// units that are near a row lie close together on a trained map, and then fewer tiles have one. Strips of eight rows
// of the map, to and fro.
std::vector<int> in_patches(const lattice_shape& shape) {
  constexpr std::size_t strip = 2 * patch;
  const std::size_t groups = (shape.width + patch - 1) / patch;
  std::vector<int> units;
  for (std::size_t top = 0; top < shape.height; top += strip) {
    const std::size_t end = std::min<std::size_t>(top + strip, shape.height);
    for (std::size_t i = 0; i < groups; ++i) {
      const std::size_t left = patch * (top / strip % 2 == 0 ? i : groups - 1 - i);
      for (std::size_t row = top; row < end; ++row) {
        for (std::size_t column = left; column < std::min<std::size_t>(left + patch, shape.width); ++column) {
          units.push_back(static_cast<int>(row * shape.width + column));
        }
      }
    }
  }
  return units;
}

// The direction of the rows' mean where it is what rows have in common, else 0: what units that lie near each other
// among directions differ from by little.
template <class Scalar>
std::vector<double> common_direction(const data_summary& summary) {
  double largest = 0, squares = 0, variance = 0;
  for (std::size_t j = 0; j < summary.columns; ++j) largest = std::max(largest, std::abs(summary.mean[j]));
  std::vector<double> direction(summary.columns, 0.0);
  if (!(largest > 0)) return direction;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    squares += summary.mean[j] / largest * (summary.mean[j] / largest);
    variance += summary.variance[j] / largest / largest;
  }
  if (!(variance < 4 * squares)) return direction;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    direction[j] = static_cast<double>(static_cast<Scalar>(summary.mean[j] / largest / std::sqrt(squares)));
  }
  return direction;
}

}  // namespace

template <class Scalar>
device_map<Scalar>::device_map(cuda::device_rows<Scalar>& rows, const data_summary& summary, const lattice_shape& shape,
                               metric metric)
    : rows_(&rows), shape_(shape), columns_(rows.columns()), places_(rows.group().size()) {
  const cuda::device_group& group = rows.group();
  on_tensor_cores_ = sizeof(Scalar) == 4 && columns_ <= std::size_t{most_tensor_columns} &&
                     (metric == metric::euclidean || metric == metric::cosine);
  short_rows_ = metric == metric::euclidean && are_short<Scalar>(rows.rows(), shape.units(), columns_);
  in_float16_ = !on_tensor_cores_ && !short_rows_ && columns_ >= std::size_t{least_float16_columns<Scalar>} &&
                (metric == metric::euclidean || metric == metric::cosine);
  for (std::size_t g = 0; g < places_.size(); ++g) {
    on_tensor_cores_ = on_tensor_cores_ && has_tensor_search(group[g].device);
    in_float16_ = in_float16_ && has_tensor_search(group[g].device);
    fetches_rows_ = fetches_rows_ && has_tensor_search(group[g].device);
  }
  const bool rough = sizeof(Scalar) == 4 && rows.group().precision() != precision::float32;
  const bool proves = in_float16_ && !rough && few_are_open(shape.units(), columns_);
  few_units_ = ((on_tensor_cores_ && !short_rows_) || proves) && shape.units() <= most_decided_units &&
               measures_by_label(metric, static_cast<int>(columns_));
  // Rows are about their means; directions are from the origin.
  std::vector<double> centre(columns_, 0.0);
  for (std::size_t j = 0; j < columns_ && metric != metric::cosine; ++j) {
    centre[j] = static_cast<double>(static_cast<Scalar>(summary.mean[j]));
  }
  const std::vector<double> of_units = metric == metric::cosine ? common_direction<Scalar>(summary) : centre;
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    set_units(places_[g], group[g], of_units, metric);
    if (in_float16_) set_float16(places_[g], group[g], centre, of_units);
    places_[g].wide_centre.upload(centre, group[g].compute);
    set_sums(places_[g], group[g], summary, centre);
    group[g].compute.synchronize();  // the host's copies end here
  }
  const std::size_t row_bytes = static_cast<std::size_t>(places_[0].units.padded / unit_tile) * sizeof(Scalar);
  const std::size_t units_of_rows = std::max<std::size_t>(1, minima_bytes / row_bytes / cuda::piece_unit);
  rows_at_once_ = std::min(std::max<std::size_t>(1, rows.most_piece_rows()), units_of_rows * cuda::piece_unit);
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    places_[g].minima.grow(rows_at_once_ * row_bytes / sizeof(Scalar));
    const std::size_t most_labels =
        std::max({rows_at_once_, float16_rows_, std::min(rows.most_piece_rows(), most_labelled_rows)});
    places_[g].labels.grow(most_labels);
    if (few_units_) {
      places_[g].doubtful_counts.grow(3);
      places_[g].doubtful_counts.fill_with_zeros(group[g].compute);
      places_[g].doubtful_list.grow(most_labels);
    }
    if (on_tensor_cores_) places_[g].near.grow(most_near_columns(rows_at_once_, group[g].multiprocessors));
  }
}

template <class Scalar>
void device_map<Scalar>::set_units(place& here, const cuda::gpu& gpu, const std::vector<double>& centre,
                                   metric metric) {
  constexpr std::size_t multiple = std::size_t{unit_tile} * tile_group;
  const std::size_t units = shape_.units(), padded = (units + multiple - 1) / multiple * multiple;
  here.codebook.grow(units * columns_);
  here.turned.grow(padded * columns_);
  here.bounds.grow(1);
  here.bounds.fill_with_zeros(gpu.compute);
  const std::vector<int> at_place = in_patches(shape_);
  here.at_place.upload(at_place, gpu.compute);
  here.centre.upload(std::vector<Scalar>(centre.begin(), centre.end()), gpu.compute);
  gpu.compute.synchronize();
  here.units.units = static_cast<int>(units);
  here.units.columns = static_cast<int>(columns_);
  here.units.padded = static_cast<int>(padded);
  here.units.metric = metric;
  here.units.codebook = here.codebook.data();
  here.units.exact = here.codebook.data();
  here.units.centre = here.centre.data();
  here.units.at_place = here.at_place.data();
  here.units.turned = here.turned.data();
  here.units.bounds = here.bounds.data();
  if (metric == metric::cosine) {
    here.exact.grow(units * columns_);
    here.units.exact = here.exact.data();
  }
  if (short_rows_ || on_tensor_cores_) {
    here.starts.grow(padded);
    here.units.starts = here.starts.data();
  }
  if (!on_tensor_cores_) return;
  // Where there are few units exact ones cost no more.
  here.units.precision = few_units_ ? precision::float32 : rows_->group().precision();
  here.operands.grow(padded / unit_tile * tile_bytes(operands_for(static_cast<int>(columns_)), here.units.precision));
  here.units.operands = here.operands.data();
}

template <class Scalar>
void device_map<Scalar>::set_float16(place& here, const cuda::gpu& gpu, const std::vector<double>& rows_centre,
                                     const std::vector<double>& units_centre) {
  const std::size_t units = shape_.units(), tile = float16_cluster_tile, padded = (units + tile - 1) / tile * tile;
  const std::size_t piece_rows = std::max<std::size_t>(1, rows_->most_piece_rows());
  const std::size_t all_rows = (piece_rows + float16_block_rows - 1) / float16_block_rows * float16_block_rows;
  const std::size_t round = gpu.multiprocessors * float16_block_rows;
  device_units<Scalar>& to = here.units;
  // Units of float64 rows are exact whatever the precision.
  to.float16.products = sizeof(Scalar) == 4 ? rows_->group().precision() : precision::float32;
  const bool rough = to.float16.products != precision::float32;
  // Units of a map lie so close together that one float16 number for each leaves many of them in doubt. Two cost three
  // products. Where two of each of a block's rows stay in shared memory, an epoch of 20,000 float32 rows × 200 columns
  // on 100 × 100 units takes 1.04 ms on an H200 instead of 1.25; beyond, one of 100,000 × 768 on 50 × 50 gained nothing
  // (3.66 and 3.65). Float64 rows were not measured; beside few units the search decides most rows by one.
  const bool twice = sizeof(Scalar) == 4 && !rough && !few_units_ &&
                     float16_layout(static_cast<int>(columns_), float16_digits::two).resident();
  const float16_digits digits = twice ? float16_digits::two : float16_digits::one;
  keeps_operands_ = rows_->resident() && float16_memory::has_room_for(piece_rows, columns_, digits);
  float16_rows_ = std::min(all_rows, rough && keeps_operands_ ? all_rows : listed_rounds * round);
  most_row_parts_ = std::min(most_unit_parts * all_rows, most_listed_rounds * round);
  here.float16.grow(keeps_operands_ ? all_rows : float16_rows_, padded, columns_, digits, gpu.compute);
  here.centred.grow(units * columns_);
  here.half_norms.grow(padded);
  here.unit_origin.upload(std::vector<float>(units_centre.begin(), units_centre.end()), gpu.compute);
  here.row_origin.upload(std::vector<float>(rows_centre.begin(), rows_centre.end()), gpu.compute);
  gpu.compute.synchronize();
  to.centred = here.centred.data();
  to.half_norms = here.half_norms.data();
  to.float16.clusters = static_cast<int>(units);
  to.float16.columns = static_cast<int>(columns_);
  to.float16.padded = static_cast<int>(padded);
  to.float16.values = to.exact;
  to.float16.origin = here.unit_origin.data();
  to.float16.half_norms = here.half_norms.data();
  to.float16.bounds = &here.bounds.data()->float16;
  if (rough) return;
  here.lists.grow(most_row_parts_ * near_lists * near_capacity);
  here.counts.grow(most_row_parts_ * near_lists);
  here.limits.grow(most_row_parts_);
}

template <class Scalar>
void device_map<Scalar>::convert_all_rows() {
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    const place& here = places_[g];
    convert_rows(piece.rows, piece.count, static_cast<int>(columns_), here.row_origin.data(), here.float16.operands(),
                 nullptr, rows_->group()[g].compute);
  });
  converted_ = true;
}

template <class Scalar>
void device_map<Scalar>::set_sums(place& here, const cuda::gpu& gpu, const data_summary& summary,
                                  const std::vector<double>& centre) {
  const std::size_t values = shape_.units() * (columns_ + 1);
  const double total = 1.001 * summary.total_weight / rows_->data().weight_scale;
  const std::vector<double> reach = reach_of(summary.minimum, summary.maximum, centre);
  reach_ = largest_distance(metric::euclidean, reach_of(summary.lowest, summary.highest, centre));
  if (sizeof(Scalar) == 8 && reach_ > 0 && std::isfinite(reach_)) {
    here.units.searched_in = std::exp2(std::clamp(-std::ilogb(reach_), -500, 500));
  }
  std::vector<double> scale;
  for (const double one : reach) scale.push_back(fixed_scale(total * one));
  scale.push_back(fixed_scale(total));
  here.scale.upload(scale, gpu.compute);
  here.fixed.grow(2 * values + 4);
  here.statistics.grow(statistics_size(shape_.units(), columns_));
  here.fixed.fill_with_zeros(gpu.compute);
  gpu.compute.synchronize();
  here.sums.whole = here.fixed.data();
  here.sums.rest = here.sums.whole + values;
  here.sums.error = here.sums.rest + values;
  here.sums.torn = here.sums.error + 2;
  here.sums.scale = here.scale.data();
  here.sums.error_limit = total * largest_distance(here.units.metric, reach);
  here.sums.total_weight = total;
  here.sums.rest_scale = std::exp2(sum_bits - std::ilogb(static_cast<double>(std::max<std::size_t>(1, summary.rows))));
}

// The bound of a row's norm is that of all rows' columns: the same for streamed rows, and on all GPUs and ranks, which
// must leave out the same units, since the scale that distances are summed in follows from the others.
template <class Scalar>
void device_map<Scalar>::leave_out_far_units() {
  expects_far_ = false;
  const bool rough = rows_->group().precision() != precision::float32 && sizeof(Scalar) == 4;
  if (places_[0].units.metric != metric::euclidean || rough || !std::isfinite(reach_)) return;
  for (std::size_t g = 0; g < places_.size(); ++g) {
    place& here = places_[g];
    const cuda::device_scope scope(rows_->group()[g].device);
    if (in_float16_) {
      here.searched.grow(shape_.units() * columns_);
      here.units.searched = here.searched.data();
      here.units.float16.values = here.searched.data();
    }
    here.units.row_norm = reach_;
  }
}

template <class Scalar>
void device_map<Scalar>::upload(const std::vector<double>& codebook) {
  if (expects_far_) leave_out_far_units();
  if (keeps_operands_ && !converted_) convert_all_rows();
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::gpu& gpu = rows_->group()[g];
    const cuda::device_scope scope(gpu.device);
    places_[g].codebook.upload(codebook, gpu.compute);
    gpu.compute.synchronize();
  }
}

template <class Scalar>
std::vector<double> device_map<Scalar>::download() const {
  const cuda::device_scope scope(first_device());
  return places_[0].codebook.download(shape_.units() * columns_, stream());
}

template <class Scalar>
score_kind device_map<Scalar>::search(searched_rows<Scalar>& some, pass what, std::size_t first, place& here,
                                      const cuda::gpu& gpu) {
  if (by_float16(what)) return search_float16_units(some, what, first, here, gpu);
  if (by_short_rows(what)) return score_kind::none;
  if constexpr (sizeof(Scalar) == 4) {
    if (on_tensor_cores_ && some.labels != nullptr) {
      some.parts = 1;
      search_tensor(some, here.units, gpu.multiprocessors, gpu.shared_bytes, gpu.compute);
      some.parts = 0;
      return score_kind::products;
    }
    if (on_tensor_cores_) {
      some.parts = tensor_parts(some.count, here.units, gpu.multiprocessors);
      search_tensor(some, here.units, gpu.multiprocessors, gpu.shared_bytes, gpu.compute);
      return score_kind::products;
    }
  }
  search_plain(some, here.units, gpu.multiprocessors, gpu.compute);
  return score_kind::plain;
}

template <class Scalar>
score_kind device_map<Scalar>::search_float16_units(searched_rows<Scalar>& some, pass what, std::size_t first,
                                                    place& here, const cuda::gpu& gpu) {
  const auto count = static_cast<std::size_t>(some.count);
  const searched_centroids& units = here.units.float16;
  float16_operands operands = here.float16.operands();
  if (keeps_operands_) {
    const float16_layout layout(units.columns, operands.digits);
    operands.rows += first / layout.unit_rows * layout.unit_bytes();
    operands.facts += first;
  } else {
    convert_rows(some.rows, count, units.columns, here.row_origin.data(), operands, nullptr, gpu.compute);
  }
  if (some.labels != nullptr) {
    search_float16(operands, 0, count, units, some.labels, some.doubtful, gpu.multiprocessors, nullptr, gpu.compute);
    return score_kind::proved;
  }
  if (units.products != precision::float32) {
    search_float16(operands, 0, count, units, some.found, {}, gpu.multiprocessors, nullptr, gpu.compute);
    return score_kind::found;
  }
  const auto most = std::min<std::size_t>(most_unit_parts, most_row_parts_ / count);
  some.listed.parts = float16_parts(count, units, gpu.multiprocessors, static_cast<int>(most));
  some.listed.lists = here.lists.data();
  some.listed.counts = here.counts.data();
  some.listed.limits = here.limits.data();
  some.listed.two = what == pass::topology;
  list_near_float16(operands, count, units, some.listed, gpu.multiprocessors, gpu.compute);
  return score_kind::lists;
}

template <class Scalar>
void device_map<Scalar>::enqueue_rows(const searched_rows<Scalar>& rows, pass what, std::size_t g, std::size_t first,
                                      std::size_t piece_first, const labels_visitor& visit) {
  place& here = places_[g];
  const cuda::gpu& gpu = rows_->group()[g];
  const auto all = static_cast<std::size_t>(rows.count);
  if (what == pass::sums && !visit && short_rows_ && fetches_rows_) {
    const int folded = folded_tile_rows(rows, here.units, here.sums, gpu.multiprocessors, gpu.shared_bytes);
    if (folded > 0) return fold_short_rows(folded, rows, here.units, here.sums, gpu.multiprocessors, gpu.compute);
  }
  if constexpr (sizeof(Scalar) == 4) {
    if (what == pass::sums && !visit && on_tensor_cores_ && few_units_ && fetches_rows_) {
      const int folded = longer_tile_rows(rows, here.units, here.sums, gpu.multiprocessors, gpu.shared_bytes);
      if (folded > 0) return fold_longer_rows(folded, rows, here.units, here.sums, gpu.multiprocessors, gpu.compute);
    }
  }
  const int tile_rows = what == pass::topology
                            ? 0
                            : summed_tile_rows(all, here.units.units, here.units.columns, here.units.metric,
                                               sizeof(Scalar), gpu.multiprocessors, gpu.shared_bytes, fetches_rows_);
  const bool by_label = tile_rows > 0 && !(by_short_rows(what) && adds_up_itself(all, here.units));
  const bool decides = by_label && few_units_;
  settled_rows to;
  to.sums = &here.sums;
  to.rows = what == pass::sums;
  to.shape = what == pass::topology ? &shape_ : nullptr;
  settled_rows settled = to;
  settled.distances_alone = by_label;
  if (by_label && measures_by_label(tile_rows, rows, here.units, gpu.multiprocessors, gpu.shared_bytes, fetches_rows_))
    settled.sums = nullptr;
  std::size_t at_once = rows_at_once_;
  if (by_float16(what)) at_once = decides && keeps_operands_ ? all : float16_rows_;
  if (by_short_rows(what)) at_once = all;  // without minima
  for (std::size_t begin = 0; begin < all; begin += at_once) {
    const std::size_t count = std::min(at_once, all - begin);
    std::int32_t* const labels = here.labels.data() + (by_label ? begin : 0);
    searched_rows<Scalar> some = rows;
    some.rows += begin * columns_;
    if (some.weights != nullptr) some.weights += begin;
    some.count = static_cast<int>(count);
    some.minima = here.minima.data();
    some.near = here.near.data();
    some.found = labels;
    if (decides) {
      some.labels = labels;
      some.doubtful = {here.doubtful_counts.data(), here.doubtful_list.data(),
                       static_cast<unsigned>(here.doubtful_list.size())};
      if (!by_float16(what)) here.doubtful_counts.fill_with_zeros(gpu.compute);  // else settle() leaves zeros
    }
    settled.labels = visit || by_label ? labels : nullptr;
    const score_kind scores = search(some, what, first + begin, here, gpu);
    // Units that were found have nothing left to settle where they are measured by label.
    if (scores != score_kind::found || settled.sums != nullptr) {
      settle(some, here.units, scores, settled, gpu.multiprocessors, gpu.compute);
    }
    if (visit) visit(piece_first + first + begin, count, labels, gpu.compute);
  }
  if (by_label)
    sum_by_label(tile_rows, rows, here.units, here.labels.data(), to, gpu.multiprocessors, gpu.shared_bytes,
                 fetches_rows_, gpu.compute);
}

template <class Scalar>
void device_map<Scalar>::enqueue(pass what, const labels_visitor& visit) {
  cuda::device_group& group = rows_->group();
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    device_units<Scalar> units = places_[g].units;
    // The plain search, which finds the second best of short rows too, has no scores that say so.
    if (what == pass::topology && !by_float16(what) && !on_tensor_cores_) units.row_norm = -1;
    find_nearness(units, group[g].compute);
    if (by_float16(what)) {
      prepare_float16_units(units, places_[g].float16.operands(), group[g].compute);
    } else {
      prepare_units(units, group[g].compute);
    }
  }
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    for (std::size_t begin = 0; begin < piece.count; begin += most_labelled_rows) {
      searched_rows<Scalar> some;
      some.rows = piece.rows + begin * columns_;
      some.weights = piece.weights == nullptr ? nullptr : piece.weights + begin;
      some.count = static_cast<int>(std::min(piece.count - begin, most_labelled_rows));
      enqueue_rows(some, what, g, begin, piece.first, visit);
    }
  });
  place& first = places_[0];
  std::vector<cuda::group_part<long long>> parts;
  for (std::size_t g = 0; g < places_.size(); ++g) parts.push_back({g, places_[g].fixed.data()});
  rows_->sum_on_first(parts, first.fixed.data(), first.fixed.size());
  for (std::size_t g = 1; g < places_.size(); ++g) {  // as read_sums() does for the first
    const cuda::device_scope scope(group[g].device);
    places_[g].fixed.fill_with_zeros(group[g].compute);
    places_[g].bounds.fill_with_zeros(group[g].compute);
  }
  const cuda::device_scope scope(first_device());
  read_sums(first.sums, first.units, first.statistics.data(), stream());
}

template <class Scalar>
void device_map<Scalar>::enqueue_broadcast() {
  std::vector<void*> to;
  for (place& here : places_) to.push_back(here.codebook.data());
  rows_->group().broadcast(places_[0].codebook.data(), to, shape_.units() * columns_ * sizeof(double));
}

template <class Scalar>
std::vector<double> device_map<Scalar>::read_statistics() const {
  const cuda::device_scope scope(first_device());
  return places_[0].statistics.download(statistics_size(shape_.units(), columns_), stream());
}

template class device_map<float>;
template class device_map<double>;

}  // namespace shoal::som
