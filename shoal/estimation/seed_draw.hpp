// Drawing one row in proportion to a mass that is known for each unit of rows: what the seeding folds share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/seeding_request.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/random/stream.hpp>

namespace shoal {

inline constexpr std::size_t no_row = static_cast<std::size_t>(-1);

/// Memory that seeding may spend on one value for each row; beyond it the values are computed again in every pass.
inline constexpr std::size_t seeding_cache_bytes = std::size_t{64} << 20;

/// Different uses of one request's stream.
enum class seeding_use : std::uint64_t { race, first_row, trial, oversample, candidates };

inline std::uint64_t seeding_stream(const seeding_request& request, seeding_use use, std::uint64_t step = 0) {
  return random::mix(random::mix(request.stream, static_cast<std::uint64_t>(use)), step);
}

/// The rows of one fold cut into units that no lane, chunk or piece cuts through: blocks, or chunks where there would
/// be too many blocks. A draw finds its unit by the units' sums and its row by one pass over that unit.
class row_units {
 public:
  row_units(std::size_t rows, std::size_t columns, std::size_t scalar_bytes);

  const fold_shape& shape() const { return shape_; }
  const fold_plan& plan() const { return plan_; }
  std::size_t count() const { return (plan_.rows + unit_rows_ - 1) / unit_rows_; }
  std::size_t unit_of(std::size_t row) const { return row / unit_rows_; }
  std::size_t first_row(std::size_t unit) const { return unit * unit_rows_; }
  std::size_t end_row(std::size_t unit) const { return std::min(plan_.rows, (unit + 1) * unit_rows_); }
  /// Units [first, end) whose rows this rank folds.
  row_range own(const fold_context& context) const;
  /// The rank that folds the rows of a unit.
  std::size_t rank_of(std::size_t unit, const communicator& ranks) const {
    return rank_of_lane(ranks, plan_.lane_of(first_row(unit)), plan_.lanes);
  }
  /// `sums` [units][size] of all ranks' units, each of which the rank has set that folds its rows. All ranks call it.
  std::vector<double> gather(const fold_context& context, std::vector<double> sums, std::size_t size = 1) const;

 private:
  fold_shape shape_;
  fold_plan plan_;
  std::size_t unit_rows_;
};

/// Σ over units of sums[unit · stride], in the order of draw_groups.hpp.
double total_of(std::span<const double> sums, std::size_t stride = 1);

inline constexpr std::size_t no_unit = static_cast<std::size_t>(-1);

/// A draw on its way to a row.
struct unit_draw {
  std::size_t unit = no_unit;  ///< the row's; no_unit when no row can be drawn
  double before = 0;           ///< mass of the units before it
  double target = 0;           ///< mass that the row's own must pass, with all that comes before it
};

/// The unit where the cumulated mass passes u · total, for u in (0, 1); no_unit when the total is zero or not finite.
unit_draw draw_unit(const row_units& units, std::span<const double> sums, double u);

/// The row of that unit whose mass passes the target, given the masses of all its rows; a row of mass zero is never
/// returned, no_row when all are.
std::size_t row_of_draw(const row_units& units, const unit_draw& draw, std::span<const double> masses);

/// A row drawn in proportion to the weights alone; remembers the sums of the weights between draws.
template <class Scalar>
class weight_draw {
 public:
  weight_draw(const fold_context& context, const weighted_rows<Scalar>& data);
  std::size_t operator()(double u);
  /// The weight of a row, one where there are none.
  double weight_of(std::size_t row) const;

 private:
  fold_context context_;
  weighted_rows<Scalar> data_;
  row_units units_;
  std::vector<double> sums_;
};
extern template class weight_draw<float>;
extern template class weight_draw<double>;

/// Appends row `row` to `points` in float64.
template <class Scalar>
void append_row(const row_source<Scalar>& rows, std::size_t row, std::vector<double>& points);
extern template void append_row(const row_source<float>&, std::size_t, std::vector<double>&);
extern template void append_row(const row_source<double>&, std::size_t, std::vector<double>&);

/// ‖point − to‖² for each of points [n][columns], in Work, to the bit as seeding measures rows.
template <class Work>
std::vector<double> distances_as_measured(std::span<const double> points, std::span<const double> to);
extern template std::vector<double> distances_as_measured<float>(std::span<const double>, std::span<const double>);
extern template std::vector<double> distances_as_measured<double>(std::span<const double>, std::span<const double>);

/// True when squares of differences of these rows could leave float32's range, so that seeding must use float64.
bool squares_need_float64(const data_summary& summary);

/// Rows in the scalar that distances are computed in: themselves, or converted into `buffer`.
template <class Work, class Scalar>
matrix_view<const Work> in_scalar(matrix_view<const Scalar> rows, aligned_buffer<Work>& buffer) {
  if constexpr (std::is_same_v<Work, Scalar>) {
    return rows;
  } else {
    buffer.grow(rows.rows() * rows.columns());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      for (std::size_t j = 0; j < rows.columns(); ++j) buffer[i * rows.columns() + j] = static_cast<Work>(rows(i, j));
    }
    return {buffer.data(), rows.rows(), rows.columns()};
  }
}

}  // namespace shoal
