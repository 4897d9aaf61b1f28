#include <shoal/estimation/seed_draw.hpp>

#include <utility>

namespace shoal {
namespace {

constexpr std::size_t most_block_units = std::size_t{1} << 16;

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
  for (std::size_t i = 0; i < sums.size(); i += stride) total += sums[i];
  return total;
}

unit_draw draw_unit(const row_units& units, std::span<const double> sums, double u) {
  const double total = total_of(sums);
  if (!(total > 0) || !(total * 0 == 0)) return {};
  unit_draw draw;
  draw.target = u * total;
  double through = 0;
  for (std::size_t i = 0; i < units.count() && through <= draw.target; ++i) {
    if (!(sums[i] > 0)) continue;
    draw.unit = i;
    draw.before = through;
    through += sums[i];
  }
  return draw;
}

std::size_t row_of_draw(const row_units& units, const unit_draw& draw, std::span<const double> masses) {
  // Rounding may leave the target beyond the unit's last row: then that row, if it has mass, is meant.
  std::size_t row = no_row;
  double reached = draw.before;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    if (!(masses[i] > 0)) continue;
    row = units.first_row(draw.unit) + i;
    reached += masses[i];
    if (reached > draw.target) break;
  }
  return row;
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
void append_row(const row_source<Scalar>& rows, std::size_t row, std::vector<double>& points) {
  aligned_buffer<Scalar> buffer;
  const auto values = rows.read(row, 1, buffer);
  for (std::size_t j = 0; j < values.columns(); ++j) points.push_back(static_cast<double>(values(0, j)));
}

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
