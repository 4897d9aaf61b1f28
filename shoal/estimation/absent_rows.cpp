#include <shoal/estimation/absent_rows.hpp>

#include <algorithm>
#include <limits>
#include <tuple>

#include <shoal/algebra/group.hpp>
#include <shoal/execution/partial_fold.hpp>

namespace shoal {
namespace {

struct extremes {
  std::vector<double> lowest;
  std::vector<double> highest;
};

struct extremes_monoid {
  using value_type = extremes;
  static constexpr algebra::operation_laws laws{
      .associative = algebra::law::exact, .commutative = algebra::law::exact, .identity = algebra::law::exact};
  static auto parts(auto& value) { return std::tie(value.lowest, value.highest); }
  std::size_t columns;

  value_type identity() const {
    value_type value;
    reset(value);
    return value;
  }
  void reset(value_type& value) const {
    value.lowest.assign(columns, std::numeric_limits<double>::infinity());
    value.highest.assign(columns, -std::numeric_limits<double>::infinity());
  }
  void combine_into(value_type& into, const value_type& from) const {
    for (std::size_t j = 0; j < columns; ++j) {
      into.lowest[j] = std::min(into.lowest[j], from.lowest[j]);
      into.highest[j] = std::max(into.highest[j], from.highest[j]);
    }
  }
  std::size_t bytes() const { return sizeof(value_type) + 2 * columns * sizeof(double); }
};

template <class Scalar>
struct extremes_body {
  struct scratch {};
  void operator()(const row_block<Scalar>& piece, const team_member& member, scratch&, extremes& into) const {
    if (member.rank() != 0) return;
    for (std::size_t i = 0; i < piece.rows.rows(); ++i) {
      const Scalar* const row = piece.rows.row(i);
      for (std::size_t j = 0; j < into.lowest.size(); ++j) {
        into.lowest[j] = std::min(into.lowest[j], static_cast<double>(row[j]));
        into.highest[j] = std::max(into.highest[j], static_cast<double>(row[j]));
      }
    }
  }
};

}  // namespace

template <class Scalar>
void find_extremes(const fold_context& context, const row_source<Scalar>& rows, std::optional<row_range> own,
                   data_summary& summary) {
  summary.lowest = summary.minimum;
  summary.highest = summary.maximum;
  if (summary.positive_rows == summary.rows) return;
  const weighted_rows<Scalar> all{&rows, nullptr, 1.0};
  const extremes_monoid monoid{rows.columns()};
  const extremes_body<Scalar> body;
  extremes found = own ? total_of(monoid, fold_part<Scalar>(context, all, *own, monoid, body))
                       : fold<Scalar>(context, all, monoid, body);
  summary.lowest = std::move(found.lowest);
  summary.highest = std::move(found.highest);
}
template void find_extremes(const fold_context&, const row_source<float>&, std::optional<row_range>, data_summary&);
template void find_extremes(const fold_context&, const row_source<double>&, std::optional<row_range>, data_summary&);

template <class Scalar>
bool absent_rows_lie_too_far(const data_summary& summary) {
  for (std::size_t j = 0; j < summary.columns; ++j) {
    if (summary.lowest[j] == summary.minimum[j] && summary.highest[j] == summary.maximum[j]) continue;
    if (!(summary.highest[j] - summary.lowest[j] <= widest_span<Scalar>)) return true;
  }
  return false;
}
template bool absent_rows_lie_too_far<float>(const data_summary&);
template bool absent_rows_lie_too_far<double>(const data_summary&);

template <class Scalar>
nearer_absent_rows<Scalar>::nearer_absent_rows(const row_source<Scalar>& rows, const row_source<Scalar>& weights,
                                               const data_summary& summary)
    : rows_(&rows), weights_(&weights) {
  constexpr double most = std::numeric_limits<Scalar>::max();
  for (std::size_t j = 0; j < summary.columns; ++j) {
    const double span = summary.maximum[j] - summary.minimum[j];
    low_.push_back(static_cast<Scalar>(std::max(summary.minimum[j] - span, -most)));
    high_.push_back(static_cast<Scalar>(std::min(summary.maximum[j] + span, most)));
  }
}

template <class Scalar>
matrix_view<const Scalar> nearer_absent_rows<Scalar>::read(std::size_t first, std::size_t count,
                                                           aligned_buffer<Scalar>& buffer) const {
  thread_local aligned_buffer<Scalar> of_rows, of_weights;
  const matrix_view<const Scalar> from = rows_->read(first, count, of_rows);
  const matrix_view<const Scalar> weights = weights_->read(first, count, of_weights);
  buffer.grow(count * columns());
  for (std::size_t i = 0; i < count; ++i) {
    Scalar* const to = buffer.data() + i * columns();
    std::copy_n(from.row(i), columns(), to);
    if (weights(i, 0) > 0) continue;
    for (std::size_t j = 0; j < columns(); ++j) to[j] = std::clamp(to[j], low_[j], high_[j]);
  }
  return {buffer.data(), count, columns()};
}

template class nearer_absent_rows<float>;
template class nearer_absent_rows<double>;

}  // namespace shoal
