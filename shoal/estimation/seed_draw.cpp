#include <shoal/estimation/seed_draw.hpp>

#include <algorithm>
#include <utility>

#include <shoal/estimation/draw_groups.hpp>
#include <shoal/nearest/nearest.hpp>

namespace shoal {
namespace {

constexpr std::size_t most_block_units = std::size_t{1} << 16;
constexpr std::size_t no_place = static_cast<std::size_t>(-1);

struct place_in_order {
  std::size_t index = no_place;
  double before = 0;  // mass before it
};

double sum_of_group(std::span<const double> masses, std::size_t first, std::size_t stride) {
  const std::size_t end = std::min(masses.size(), first + draw_group * stride);
  double sum = 0;
  for (std::size_t i = first; i < end; i += stride) sum += masses[i];
  return sum;
}

// The last positive mass that begins at most at the target, or the first one; `through` is what comes before them all.
place_in_order draw_in_order(std::span<const double> masses, double through, double target) {
  place_in_order found;
  std::size_t group = no_place;
  for (std::size_t first = 0; first < masses.size(); first += draw_group) {
    const double sum = sum_of_group(masses, first, 1);
    if (sum > 0 && (group == no_place || through <= target)) {
      group = first;
      found.before = through;
    }
    through += sum;
  }
  if (group == no_place) return found;
  const double before = found.before;
  double within = 0;
  for (std::size_t i = group; i < std::min<std::size_t>(masses.size(), group + draw_group); ++i) {
    if (masses[i] > 0 && (found.index == no_place || before + within <= target)) found = {i, before + within};
    within += masses[i];
  }
  return found;
}

}  // namespace

row_units::row_units(std::size_t rows, std::size_t columns, std::size_t scalar_bytes)
    : shape_{rows, columns, scalar_bytes, 0}, plan_(make_fold_plan(shape_)) {
  unit_rows_ = rows / block_rows < most_block_units ? block_rows : plan_.chunk_rows;
}

row_range row_units::own(const fold_context& context) const {
  const row_range rows = own_rows(context, plan_);
  return {rows.first / unit_rows_, (rows.end + unit_rows_ - 1) / unit_rows_};
}

std::vector<double> row_units::gather(const fold_context& context, std::vector<double> sums, std::size_t size) const {
  if (alone(context.ranks)) return sums;
  const row_range units = own(context);
  const std::span<const double> mine =
      std::span<const double>(sums).subspan(units.first * size, (units.end - units.first) * size);
  return gathered(context.ranks, std::vector<double>(mine.begin(), mine.end()));
}

double total_of(std::span<const double> sums, std::size_t stride) {
  double total = 0;
  for (std::size_t first = 0; first < sums.size(); first += draw_group * stride) {
    total += sum_of_group(sums, first, stride);
  }
  return total;
}

unit_draw draw_unit(const row_units& units, std::span<const double> sums, double u) {
  const double total = total_of(sums);
  if (!(total > 0) || !(total * 0 == 0)) return {};
  const place_in_order found = draw_in_order(sums.first(units.count()), 0, u * total);
  return {found.index, found.before, u * total};
}

std::size_t row_of_draw(const row_units& units, const unit_draw& draw, std::span<const double> masses) {
  // Rounding may leave the target beyond the unit's last row: then that row, if it has mass, is meant.
  const place_in_order found = draw_in_order(masses, draw.before, draw.target);
  return found.index == no_place ? no_row : units.first_row(draw.unit) + found.index;
}

template <class Scalar>
weight_draw<Scalar>::weight_draw(const fold_context& context, const weighted_rows<Scalar>& data)
    : context_(context), data_(data), units_(data.rows->rows(), 1, sizeof(Scalar)) {}

template <class Scalar>
std::size_t weight_draw<Scalar>::operator()(double u) {
  const std::size_t rows = data_.rows->rows();
  if (data_.weights == nullptr) return std::min(rows - 1, static_cast<std::size_t>(u * static_cast<double>(rows)));
  if (sums_.empty()) {
    sums_.resize(units_.count());
    std::vector<padded<nothing>> scratch;
    for_each_piece<Scalar>(context_, weighted_rows<Scalar>{data_.weights, nullptr, 1}, units_.plan(), units_.shape(),
                           scratch, [&](std::size_t, const row_block<Scalar>& piece, const team_member&, nothing&) {
                             for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
                               sums_[units_.unit_of(piece.first + i)] += static_cast<double>(piece.rows(i, 0));
                             }
                           });
    sums_ = units_.gather(context_, std::move(sums_));
  }
  const unit_draw draw = draw_unit(units_, sums_, u);
  aligned_buffer<Scalar> buffer;
  const std::size_t first = units_.first_row(draw.unit), count = units_.end_row(draw.unit) - first;
  const fetched_rows<Scalar> fetched(context_, *data_.weights);
  const auto weights = fetched.read(first, count, buffer);
  std::vector<double> masses(count);
  for (std::size_t i = 0; i < count; ++i) masses[i] = static_cast<double>(weights(i, 0));
  return row_of_draw(units_, draw, masses);
}

template <class Scalar>
double weight_draw<Scalar>::weight_of(std::size_t row) const {
  if (data_.weights == nullptr) return 1;
  aligned_buffer<Scalar> buffer;
  const fetched_rows<Scalar> fetched(context_, *data_.weights);
  return static_cast<double>(fetched.read(row, 1, buffer)(0, 0));
}

template <class Scalar>
void append_row(const row_source<Scalar>& rows, std::size_t row, std::vector<double>& points) {
  aligned_buffer<Scalar> buffer;
  const auto values = rows.read(row, 1, buffer);
  for (std::size_t j = 0; j < values.columns(); ++j) points.push_back(static_cast<double>(values(0, j)));
}

template <class Work>
std::vector<double> distances_as_measured(std::span<const double> points, std::span<const double> to) {
  const std::size_t columns = to.size(), count = points.size() / columns;
  const std::vector<Work> rows(points.begin(), points.end()), point(to.begin(), to.end());
  std::vector<Work> found(count);
  nearest_scratch<Work> scratch;
  squared_distances<Work>({rows.data(), count, columns}, {point.data(), 1, columns}, found.data(), count, scratch);
  return {found.begin(), found.end()};
}
template std::vector<double> distances_as_measured<float>(std::span<const double>, std::span<const double>);
template std::vector<double> distances_as_measured<double>(std::span<const double>, std::span<const double>);

bool squares_need_float64(const data_summary& summary) {
  double largest = 0;
  double variance = 0;
  for (std::size_t j = 0; j < summary.columns; ++j) {
    const double range = summary.highest[j] - summary.lowest[j];  // rows of weight zero are measured too
    largest += range * range;
    variance += summary.variance[j];
  }
  return !(largest < 1e36) || variance < 1e-24;
}

template class weight_draw<float>;
template class weight_draw<double>;
template void append_row(const row_source<float>&, std::size_t, std::vector<double>&);
template void append_row(const row_source<double>&, std::size_t, std::vector<double>&);

}  // namespace shoal
