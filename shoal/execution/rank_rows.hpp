// Which rows are a rank's own, and single rows that every rank must see.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <shoal/execution/communicator.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Rows [first, end) of the lanes that this rank folds.
inline row_range own_rows(const fold_context& context, const fold_plan& plan) {
  const lane_range lanes = own_lanes(context, plan);
  if (lanes.count() == 0) return {};
  return {plan.first_row(lanes.first), plan.end_row(lanes.end - 1)};
}

/// The same for a fold of that shape.
inline row_range rows_of_rank(communicator* ranks, const fold_shape& shape) {
  fold_context context;
  context.ranks = ranks;
  return own_rows(context, make_fold_plan(shape));
}

/// Rows by their index in the whole data, the same on every rank: the rank that owns the first of them reads them and
/// sends them to the others. A read is therefore a call that all ranks make together, from the thread that folds, and
/// dear: for a few rows that a fold has chosen. With one rank it is a read of the source.
template <class Scalar>
class fetched_rows final : public row_source<Scalar> {
 public:
  fetched_rows(const fold_context& context, const row_source<Scalar>& rows)
      : ranks_(context.ranks),
        source_(&rows),
        plan_(make_fold_plan({rows.rows(), rows.columns(), sizeof(Scalar), 0})) {}

  std::size_t rows() const override { return source_->rows(); }
  std::size_t columns() const override { return source_->columns(); }
  bool resident() const override { return alone(ranks_) && source_->resident(); }

  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    if (alone(ranks_)) return source_->read(first, count, buffer);
    const std::size_t owner = rank_of_lane(*ranks_, plan_.lane_of(first), plan_.lanes);
    std::vector<Scalar> values;
    if (owner == ranks_->rank()) {
      const matrix_view<const Scalar> read = source_->read(first, count, buffer);
      for (std::size_t i = 0; i < count; ++i) values.insert(values.end(), read.row(i), read.row(i) + columns());
    }
    values = shared_from(ranks_, owner, std::move(values));
    if (values.size() != count * columns()) {
      throw bad_data("another rank's rows are of another shape; all ranks must have the same rows");
    }
    buffer.grow(values.size());
    std::copy(values.begin(), values.end(), buffer.data());
    return {buffer.data(), count, columns()};
  }

 private:
  communicator* ranks_;
  const row_source<Scalar>* source_;
  fold_plan plan_;
};

}  // namespace shoal
