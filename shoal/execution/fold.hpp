// Folding rows into statistics: the same bits for any number of threads, in memory or read piece by piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <utility>
#include <vector>

#include <shoal/core/aligned_buffer.hpp>
#include <shoal/core/error.hpp>
#include <shoal/core/matrix_view.hpp>
#include <shoal/core/padded.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/execution/communicator.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/lane_merger.hpp>
#include <shoal/execution/plan.hpp>
#include <shoal/execution/rank_merge.hpp>
#include <shoal/execution/sendable.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// The rows of a fit and, when `weights` is not null, one column of sample weights for them. A row's weight is
/// weights(row, 0) * weight_scale; the scale is a power of two that keeps the stored weights near one.
template <class Scalar>
struct weighted_rows {
  const row_source<Scalar>* rows = nullptr;
  const row_source<Scalar>* weights = nullptr;
  double weight_scale = 1;
};

/// Consecutive rows on their way into a statistic. `first` is the index of the first of them in the whole data and a
/// multiple of block_rows; `weights` is null (all one) or holds one weight for each row, not yet scaled.
template <class Scalar>
struct row_block {
  matrix_view<const Scalar> rows;
  const Scalar* weights = nullptr;
  std::size_t first = 0;
};

/// What every fold of one fit runs on.
struct fold_context {
  executor* workers = nullptr;
  std::size_t memory_limit = 0;  ///< bytes for row buffers; 0: no limit
  std::stop_token stop;
  communicator* ranks = nullptr;  ///< of several ranks that share the rows; null: this process folds them all
  std::function<void(const progress&)> report = {};  ///< what takes many folds says where it is; may be empty
};

/// The context of a call that was handed `control`; of several ranks the first alone reports.
inline fold_context context_of(executor& workers, std::size_t memory_limit, const control& control) {
  return {&workers, memory_limit, control.stop, control.ranks,
          speaks(control.ranks) ? control.report : std::function<void(const progress&)>()};
}

/// The lanes that this rank folds.
inline lane_range own_lanes(const fold_context& context, const fold_plan& plan) {
  if (context.ranks == nullptr) return {0, plan.lanes};
  return lanes_of_rank(*context.ranks, context.ranks->rank(), plan.lanes);
}

/// Rows that a worker reads, with the buffers they are read into.
template <class Scalar>
class row_reader {
 public:
  explicit row_reader(const weighted_rows<Scalar>& data) : data_(&data) {}

  row_block<Scalar> read(std::size_t first, std::size_t count) {
    row_block<Scalar> block;
    block.first = first;
    block.rows = data_->rows->read(first, count, rows_);
    if (data_->weights != nullptr) {
      const matrix_view<const Scalar> weights = data_->weights->read(first, count, weights_);
      if (weights.row_stride() == 1) {
        block.weights = weights.data();
      } else {
        packed_.grow(count);
        for (std::size_t i = 0; i < count; ++i) packed_[i] = weights(i, 0);
        block.weights = packed_.data();
      }
    }
    return block;
  }

 private:
  const weighted_rows<Scalar>* data_;
  aligned_buffer<Scalar> rows_;
  aligned_buffer<Scalar> weights_;
  aligned_buffer<Scalar> packed_;
};

/// Calls visit(lane, block, member, scratch) for every piece of the rows of lanes `own`, lane by lane; `scratch` is a
/// Scratch that belongs to the team. The order within a lane is that of the rows; lanes run at the same time.
///
/// Visit is `void(std::size_t lane, const row_block<Scalar>&, const team_member&, Scratch&)`. All members of a team
/// get the same block. Throws interrupted when the context's stop was requested, and what reading or visiting throws.
template <class Scalar, class Scratch, class Visit>
void for_each_piece(const fold_context& context, const weighted_rows<Scalar>& data, const fold_plan& plan,
                    const fold_shape& shape, const lane_range& own, std::vector<padded<Scratch>>& scratch,
                    const Visit& visit) {
  executor& workers = *context.workers;
  const std::size_t members = team_size(plan, shape, workers.threads());
  const std::size_t teams = std::max<std::size_t>(1, workers.threads() / members);
  const bool resident = data.rows->resident() && (data.weights == nullptr || data.weights->resident());
  const std::size_t piece = piece_rows(plan, shape, teams, resident ? 0 : context.memory_limit);
  if (scratch.size() < teams) scratch.resize(teams);
  struct place {
    row_reader<Scalar> reader;
    row_block<Scalar> block = {};
  };
  std::vector<padded<place>> places;
  for (std::size_t team = 0; team < teams; ++team) places.push_back({{row_reader<Scalar>(data)}});

  workers.run(own.count(), members, [&](std::size_t task, const team_member& member) {
    const std::size_t lane = own.first + task;
    const std::size_t end = plan.end_row(lane);
    place& mine = places[member.team()].value;
    for (std::size_t first = plan.first_row(lane); first < end; first += piece) {
      if (member.rank() == 0) {
        if (context.stop.stop_requested()) throw interrupted("stopped on request");
        mine.block = mine.reader.read(first, std::min(piece, end - first));
      }
      member.wait();
      visit(lane, mine.block, member, scratch[member.team()].value);
      member.wait();
    }
  });
}

/// The same for this rank's lanes.
template <class Scalar, class Scratch, class Visit>
void for_each_piece(const fold_context& context, const weighted_rows<Scalar>& data, const fold_plan& plan,
                    const fold_shape& shape, std::vector<padded<Scratch>>& scratch, const Visit& visit) {
  for_each_piece<Scalar>(context, data, plan, shape, own_lanes(context, plan), scratch, visit);
}

/// Folds rows into one value of `monoid` and keeps the memory for the next fold of the same shape. Threads claim lanes
/// in order, so that about threads + log₂(lanes) values are alive at the same time.
///
/// Monoid is a commutative monoid of the algebra (`value_type`, `laws`, `value_type identity() const`) whose values can
/// be sent, and has `void reset(value_type&) const` (back to the identity without giving memory up), `void
/// combine_into(value_type& into, const value_type& from) const` and `std::size_t bytes() const`. Body has `struct
/// scratch` (default-constructible, one for each team) and `void operator()(const row_block<Scalar>&, const
/// team_member&, scratch&, value_type&) const`.
template <class Scalar, sendable_monoid Monoid, class Body>
class folder {
 public:
  folder(const weighted_rows<Scalar>& data, Monoid monoid)
      : data_(data),
        monoid_(std::move(monoid)),
        shape_{data.rows->rows(), data.rows->columns(), sizeof(Scalar), monoid_.bytes()},
        plan_(make_fold_plan(shape_)) {}

  const fold_plan& plan() const { return plan_; }
  const Monoid& monoid() const { return monoid_; }

  /// The fold of all rows; the reference is good until the next call.
  const typename Monoid::value_type& operator()(const fold_context& context, const Body& body) {
    const lane_range own = own_lanes(context, plan_);
    lane_merger<Monoid> merger(monoid_, pool_, plan_.lanes, own.first, own.end);
    fold_lanes(context, body, own, merger);
    if (alone(context.ranks)) return *merger.subtree(0);
    return *rank_merge<Monoid>(*context.ranks, monoid_, pool_, merger, plan_.lanes)();
  }

  /// The largest subtrees that some lanes alone merge to, from the first lane to the last; `data` need have the rows of
  /// these lanes only.
  std::vector<subtree<typename Monoid::value_type>> subtrees(const fold_context& context, const Body& body,
                                                             const lane_range& own) {
    lane_merger<Monoid> merger(monoid_, pool_, plan_.lanes, own.first, own.end);
    fold_lanes(context, body, own, merger);
    std::vector<subtree<typename Monoid::value_type>> found;
    for (std::size_t lane = own.first; lane < own.end; lane = found.back().lanes.end) {
      found.push_back({merger.lanes_of_subtree(lane), *merger.subtree(lane)});
    }
    return found;
  }

  /// Values that were alive at the same time, at most.
  std::size_t values() const { return pool_.size(); }

 private:
  // What the members of one team are folding.
  struct lane_in_progress {
    typename Monoid::value_type* value = nullptr;
  };

  void fold_lanes(const fold_context& context, const Body& body, const lane_range& own, lane_merger<Monoid>& merger) {
    pool_.give_all_back();
    if (lanes_.size() < context.workers->threads()) lanes_.resize(context.workers->threads());
    for_each_piece<Scalar>(context, data_, plan_, shape_, own, scratch_,
                           [&](std::size_t lane, const row_block<Scalar>& block, const team_member& member,
                               typename Body::scratch& scratch) {
                             lane_in_progress& mine = lanes_[member.team()].value;
                             if (block.first == plan_.first_row(lane)) {
                               if (member.rank() == 0) begin(mine);
                               member.wait();
                             }
                             body(block, member, scratch, *mine.value);
                             if (block.first + block.rows.rows() == plan_.end_row(lane)) {
                               member.wait();
                               if (member.rank() == 0) merger.complete(lane, mine.value);
                             }
                           });
  }

  // By the team rather than before all lanes, so that the threads share the work.
  void begin(lane_in_progress& mine) {
    mine.value = pool_.take(monoid_);
    monoid_.reset(*mine.value);
  }

  weighted_rows<Scalar> data_;
  Monoid monoid_;
  fold_shape shape_;
  fold_plan plan_;
  value_pool<Monoid> pool_;
  std::vector<padded<lane_in_progress>> lanes_;
  std::vector<padded<typename Body::scratch>> scratch_;
};

/// What a fold that only visits the rows sums up: nothing.
struct nothing {
  friend constexpr bool operator==(nothing, nothing) = default;
};
struct nothing_monoid {
  using value_type = nothing;
  static constexpr algebra::operation_laws laws{
      .associative = algebra::law::exact, .commutative = algebra::law::exact, .identity = algebra::law::exact};
  nothing identity() const { return {}; }
  void reset(nothing&) const {}
  void combine_into(nothing&, const nothing&) const {}
  std::size_t bytes() const { return sizeof(nothing); }
};

/// One fold that nobody repeats.
template <class Scalar, sendable_monoid Monoid, class Body>
typename Monoid::value_type fold(const fold_context& context, const weighted_rows<Scalar>& data, const Monoid& monoid,
                                 const Body& body) {
  folder<Scalar, Monoid, Body> once(data, monoid);
  return once(context, body);
}

}  // namespace shoal
