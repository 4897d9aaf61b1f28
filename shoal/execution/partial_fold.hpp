// The fold of some of all rows: merged lanes that fit the fold of all rows, and whatever lies between two lanes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/execution/accumulate_options.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/fold.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/execution/rank_rows.hpp>
#include <shoal/execution/sendable.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// A part seen as all rows: row `part.first` is the first of `rows`, and those before and behind cannot be read.
template <class Scalar>
class part_source final : public row_source<Scalar> {
 public:
  part_source(const row_source<Scalar>& rows, const row_part& part) : source_(&rows), part_(part) {
    if (part.total == 0) part_ = {0, rows.rows()};
  }
  std::size_t rows() const override { return part_.total; }
  std::size_t columns() const override { return source_->columns(); }
  bool resident() const override { return source_->resident(); }
  matrix_view<const Scalar> read(std::size_t first, std::size_t count, aligned_buffer<Scalar>& buffer) const override {
    return source_->read(first - part_.first, count, buffer);
  }

 private:
  const row_source<Scalar>* source_;
  row_part part_;
};

/// What has been folded of all rows. Without places (`total` is 0) it is one value that holds `rows.front()`.
template <sendable_monoid Monoid>
struct partial_fold {
  using value_type = typename Monoid::value_type;

  std::size_t total = 0;                      ///< rows of the whole; 0: there is no whole
  std::size_t lanes = 0;                      ///< of the fold of the whole
  std::vector<row_range> rows;                ///< folded here: ascending, with gaps between them
  std::vector<subtree<value_type>> subtrees;  ///< ascending, each as large as what is folded here allows
  std::optional<value_type> loose;            ///< of rows that fill no lane

  std::size_t count() const {
    std::size_t sum = 0;
    for (const row_range& range : rows) sum += range.end - range.first;
    return sum;
  }
};

/// The lanes that lie in rows [first, end).
inline lane_range whole_lanes(const fold_plan& plan, const row_range& rows) {
  lane_range found;
  while (found.first < plan.lanes && plan.first_row(found.first) < rows.first) ++found.first;
  found.end = found.first;
  while (found.end < plan.lanes && plan.end_row(found.end) <= rows.end) ++found.end;
  return found;
}

/// Whether lanes `right` follow `left` and both together are a node of the tree of `lanes` lanes.
inline bool are_siblings(const lane_range& left, const lane_range& right, std::size_t lanes) {
  const std::size_t step = left.count();
  return (step & (step - 1)) == 0 && left.first % (2 * step) == 0 && right.first == left.end &&
         right.end == std::min(left.first + 2 * step, lanes);
}

template <sendable_monoid Monoid>
void merge_siblings(const Monoid& monoid, partial_fold<Monoid>& fold) {
  std::vector<subtree<typename Monoid::value_type>> merged;
  for (auto& next : fold.subtrees) {
    merged.push_back(std::move(next));
    while (merged.size() > 1 && are_siblings((merged.end() - 2)->lanes, merged.back().lanes, fold.lanes)) {
      auto& left = *(merged.end() - 2);
      monoid.combine_into(left.value, merged.back().value);
      left.lanes.end = merged.back().lanes.end;
      merged.pop_back();
    }
  }
  fold.subtrees = std::move(merged);
}

/// Folds rows [rows.first, rows.end) of `data`, which has as many rows as the whole but need have no others.
template <class Scalar, sendable_monoid Monoid, class Body>
partial_fold<Monoid> fold_part(const fold_context& context, const weighted_rows<Scalar>& data, const row_range& rows,
                               const Monoid& monoid, const Body& body) {
  folder<Scalar, Monoid, Body> folding(data, monoid);
  const fold_plan& plan = folding.plan();
  partial_fold<Monoid> made;
  made.total = plan.rows;
  made.lanes = plan.lanes;
  made.rows = {rows};
  const lane_range lanes = whole_lanes(plan, rows);
  std::vector<row_range> edges{rows};
  if (lanes.count() > 0) {
    made.subtrees = folding.subtrees(context, body, lanes);
    edges = {{rows.first, plan.first_row(lanes.first)}, {plan.end_row(lanes.end - 1), rows.end}};
  }
  typename Body::scratch scratch;
  row_reader<Scalar> reader(data);
  const std::size_t piece = piece_rows(plan, {data.rows->rows(), data.rows->columns(), sizeof(Scalar), 0}, 1,
                                       data.rows->resident() ? 0 : context.memory_limit);
  make_sequential()->run(edges.size(), 1, [&](std::size_t edge, const team_member& member) {
    // Blocks are those of the whole, but for the two that the part is cut through.
    for (std::size_t first = edges[edge].first, end; first < edges[edge].end; first = end) {
      end = std::min((first + piece) / block_rows * block_rows, edges[edge].end);
      if (context.stop.stop_requested()) throw interrupted("stopped on request");
      if (!made.loose) made.loose = monoid.identity();
      body(reader.read(first, end - first), member, scratch, *made.loose);
    }
  });
  return made;
}

/// All that was folded, in the order of the lanes: for a whole the bits of one fold.
template <sendable_monoid Monoid>
typename Monoid::value_type total_of(const Monoid& monoid, const partial_fold<Monoid>& fold) {
  if (fold.subtrees.empty()) return fold.loose ? *fold.loose : monoid.identity();
  typename Monoid::value_type sum = fold.subtrees.front().value;
  for (std::size_t i = 1; i < fold.subtrees.size(); ++i) monoid.combine_into(sum, fold.subtrees[i].value);
  if (fold.loose) monoid.combine_into(sum, *fold.loose);
  return sum;
}

/// The same as rows that are no part of anything.
template <sendable_monoid Monoid>
partial_fold<Monoid> without_places(const Monoid& monoid, partial_fold<Monoid> fold) {
  partial_fold<Monoid> made;
  made.rows = {{0, fold.count()}};
  made.loose = total_of(monoid, fold);
  return made;
}

/// Throws bad_argument when both hold the same row.
template <sendable_monoid Monoid>
void combine_into(const Monoid& monoid, partial_fold<Monoid>& into, const partial_fold<Monoid>& from) {
  if (into.total == 0) {
    into.rows = {{0, into.count() + from.count()}};
  } else {
    std::vector<row_range> rows = into.rows;
    rows.insert(rows.end(), from.rows.begin(), from.rows.end());
    std::sort(rows.begin(), rows.end(), [](const row_range& a, const row_range& b) { return a.first < b.first; });
    std::vector<row_range> joined;
    for (const row_range& next : rows) {
      if (!joined.empty() && next.first < joined.back().end) {
        throw bad_argument(fmt::format(
            "row {} (counting from 0) is in both statistics; combine parts that do not overlap", next.first));
      }
      if (!joined.empty() && next.first == joined.back().end) {
        joined.back().end = next.end;
      } else {
        joined.push_back(next);
      }
    }
    into.rows = std::move(joined);
  }
  into.subtrees.insert(into.subtrees.end(), from.subtrees.begin(), from.subtrees.end());
  std::sort(into.subtrees.begin(), into.subtrees.end(),
            [](const auto& a, const auto& b) { return a.lanes.first < b.lanes.first; });
  merge_siblings(monoid, into);
  if (from.loose && into.loose) {
    monoid.combine_into(*into.loose, *from.loose);
  } else if (from.loose) {
    into.loose = from.loose;
  }
}

}  // namespace shoal
