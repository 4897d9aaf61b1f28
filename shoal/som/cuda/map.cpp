#include <shoal/som/cuda/map.hpp>

#include <algorithm>
#include <cmath>

#include <shoal/som/cuda/settle_short_rows.hpp>

namespace shoal::som {
namespace {

// Memory for the least scores of the rows that are searched at one time: those of 10⁵ rows on 100 × 100 units.
constexpr std::size_t minima_bytes = std::size_t{64} << 20;

// Multiprocessors' rounds of rows whose near units are listed at one time, and rounds that lists have room for where
// the units are cut into parts: 208 MB on an H200, if there are so many rows.
constexpr std::size_t listed_rounds = 2, most_listed_rounds = 3;
constexpr int most_unit_parts = 4;

// Units across a patch of the map that is a column of a tile.
constexpr std::size_t patch = 4;

// Bits that hold the magnitude of a sum of fixed numbers, of 63.
constexpr int sum_bits = 60;

// The power of two that values of at most `most` are counted in.
double fixed_scale(double most) {
  return most > 0 ? std::exp2(std::clamp(sum_bits - std::ilogb(most), -1000, 1000)) : 1.0;
}

// The most that a row is apart from the centre, by column.
std::vector<double> reach_of(const data_summary& summary, const std::vector<double>& centre) {
  std::vector<double> reach;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    // Differences are rounded to the scalar: up by less than a thousandth.
    reach.push_back(1.001 *
                    std::max(std::abs(summary.maximum[j] - centre[j]), std::abs(summary.minimum[j] - centre[j])));
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
  in_float16_ = !on_tensor_cores_ && columns_ >= std::size_t{least_float16_columns<Scalar>} &&
                (metric == metric::euclidean || metric == metric::cosine);
  for (std::size_t g = 0; g < places_.size(); ++g) {
    on_tensor_cores_ = on_tensor_cores_ && has_tensor_search(group[g].device);
    in_float16_ = in_float16_ && has_tensor_search(group[g].device);
  }
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
    places_[g].labels.grow(std::max(rows_at_once_, float16_rows_));
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
  if (!on_tensor_cores_) return;
  here.units.precision = rows_->group().precision();
  here.operands.grow(padded / unit_tile * tile_bytes(operands_for(static_cast<int>(columns_)), here.units.precision));
  here.units.operands = here.operands.data();
  here.starts.grow(padded);
  here.units.starts = here.starts.data();
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
  // (3.66 and 3.65). Float64 rows were not measured.
  const bool twice =
      sizeof(Scalar) == 4 && !rough && float16_layout(static_cast<int>(columns_), float16_digits::two).resident();
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
  const std::vector<double> reach = reach_of(summary, centre);
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

template <class Scalar>
void device_map<Scalar>::upload(const std::vector<double>& codebook) {
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
  if (by_float16(what)) return search_float16_units(some, first, here, gpu);
  if constexpr (sizeof(Scalar) == 4) {
    if (on_tensor_cores_ && what != pass::topology && here.units.metric == metric::euclidean &&
        columns_ <= std::size_t{most_short_columns}) {
      return score_kind::none;
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
score_kind device_map<Scalar>::search_float16_units(searched_rows<Scalar>& some, std::size_t first, place& here,
                                                    const cuda::gpu& gpu) {
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
  if (units.products != precision::float32) {
    search_float16(operands, 0, count, units, here.labels.data(), {}, gpu.multiprocessors, nullptr, gpu.compute);
    some.found = here.labels.data();
    return score_kind::found;
  }
  const auto most = std::min<std::size_t>(most_unit_parts, most_row_parts_ / count);
  some.listed.parts = float16_parts(count, units, gpu.multiprocessors, static_cast<int>(most));
  some.listed.lists = here.lists.data();
  some.listed.counts = here.counts.data();
  some.listed.limits = here.limits.data();
  list_near_float16(operands, count, units, some.listed, gpu.multiprocessors, gpu.compute);
  return score_kind::lists;
}

template <class Scalar>
void device_map<Scalar>::enqueue(pass what, const labels_visitor& visit) {
  cuda::device_group& group = rows_->group();
  for (std::size_t g = 0; g < places_.size(); ++g) {
    const cuda::device_scope scope(group[g].device);
    if (by_float16(what)) {
      prepare_float16_units(places_[g].units, places_[g].float16.operands(), group[g].compute);
    } else {
      prepare_units(places_[g].units, group[g].compute);
    }
  }
  rows_->for_each_piece([&](std::size_t g, const cuda::device_piece<Scalar>& piece) {
    place& here = places_[g];
    const std::size_t at_once = by_float16(what) ? float16_rows_ : rows_at_once_;
    for (std::size_t begin = 0; begin < piece.count; begin += at_once) {
      const std::size_t count = std::min(at_once, piece.count - begin);
      searched_rows<Scalar> some;
      some.rows = piece.rows + begin * columns_;
      some.weights = piece.weights == nullptr ? nullptr : piece.weights + begin;
      some.count = static_cast<int>(count);
      some.minima = here.minima.data();
      some.near = here.near.data();
      settled_rows to;
      to.labels = visit ? here.labels.data() : nullptr;
      to.sums = &here.sums;
      to.rows = what == pass::sums;
      to.shape = what == pass::topology ? &shape_ : nullptr;
      const score_kind scores = search(some, what, begin, here, group[g]);
      settle(some, here.units, scores, to, group[g].multiprocessors, group[g].compute);
      if (visit) visit(piece.first + begin, count, here.labels.data(), group[g].compute);
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
