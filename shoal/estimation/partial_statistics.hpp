// What the statistics of every family share: made of some rows, combined, taken apart, written and read.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/core/progress.hpp>
#include <shoal/estimation/absent_rows.hpp>
#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/data_check.hpp>
#include <shoal/estimation/statistics_words.hpp>
#include <shoal/estimation/weights_in.hpp>
#include <shoal/execution/accumulate_options.hpp>
#include <shoal/execution/executor.hpp>
#include <shoal/execution/partial_fold.hpp>
#include <shoal/io/row_source.hpp>

namespace shoal {

/// Statistics of some rows under one model, in the caller's weights, with what they belong to.
template <sendable_monoid Monoid>
struct partial_statistics {
  statistics_identity identity;
  std::size_t columns = 0;
  std::vector<double> centre;  ///< that sums are about, where the model does not say it; else empty
  Monoid monoid;
  partial_fold<Monoid> sums;
  partial_fold<check_monoid> checks;  ///< what the check of the data found

  typename Monoid::value_type total() const { return total_of(monoid, sums); }
  check_statistics checked() const { return total_of(check_monoid{columns}, checks); }
  std::size_t rows() const { return sums.count(); }
  bool whole() const { return sums.total > 0 && rows() == sums.total; }
};

/// What is common to all: rows of one part, checked and seen as all rows. `Scalar` sources outlive it.
template <class Scalar>
class checked_part {
 public:
  checked_part(const row_source<Scalar>& rows, row_weights weights, const row_part& part, std::size_t threads,
               std::size_t memory_limit, const control& control)
      : workers_(make_executor(threads)), context_{workers_.get(), memory_limit, control.stop, nullptr}, part_(part) {
    check_shapes(rows, weights);
    check_part(part, rows.rows());
    rows_ = std::make_unique<part_source<Scalar>>(rows, part);
    if (weights.in<float>() != nullptr) narrow_ = std::make_unique<part_source<float>>(*weights.in<float>(), part);
    if (weights.in<double>() != nullptr) wide_ = std::make_unique<part_source<double>>(*weights.in<double>(), part);
    const row_weights mine = narrow_ ? row_weights(narrow_.get()) : row_weights(wide_.get());
    range_ = {part.first, part.first + rows.rows()};
    const weights_in<Scalar> held(context_, mine, range_);
    const check_monoid monoid{rows.columns()};
    checks_ = fold_part<Scalar>(context_, {rows_.get(), held.get(), 1.0}, range_, monoid, check_body<Scalar>{});
    summary_ = summarise<Scalar>(total_of(monoid, checks_), *rows_, held.get());
    held.bring_back(summary_);
    find_extremes<Scalar>(context_, *rows_, range_, summary_);
    for (auto& each : checks_.subtrees) held.bring_back(each.value);
    if (checks_.loose) held.bring_back(*checks_.loose);
    scaled_ = std::make_unique<scaled_rows<Scalar>>(*rows_, mine, summary_);
  }

  const data_summary& summary() const { return summary_; }
  const fold_context& context() const { return context_; }
  /// Rows of the whole.
  std::size_t whole() const { return rows_->rows(); }

  /// Folds the rows; `rescale(value, factor)` brings a value into the caller's weights.
  template <class Monoid, class Body, class Rescale>
  void fold_into(partial_statistics<Monoid>& made, const Body& body, const Rescale& rescale) {
    made.columns = rows_->columns();
    made.sums = fold_part<Scalar>(context_, scaled_->data(), range_, made.monoid, body);
    const double scale = scaled_->data().weight_scale;
    for (auto& each : made.sums.subtrees) rescale(each.value, scale);
    if (made.sums.loose) rescale(*made.sums.loose, scale);
    made.checks = checks_;
    if (part_.total > 0) return;
    made.sums = without_places(made.monoid, std::move(made.sums));
    made.checks = without_places(check_monoid{made.columns}, std::move(made.checks));
  }

 private:
  std::unique_ptr<executor> workers_;
  fold_context context_;
  row_part part_;
  row_range range_;
  std::unique_ptr<part_source<Scalar>> rows_;
  std::unique_ptr<part_source<float>> narrow_;
  std::unique_ptr<part_source<double>> wide_;
  partial_fold<check_monoid> checks_;
  data_summary summary_;
  std::unique_ptr<scaled_rows<Scalar>> scaled_;
};

/// Statistics that a GPU has made of all rows that it was given, in the caller's weights.
template <class Monoid>
void fill_from_device(partial_statistics<Monoid>& made, typename Monoid::value_type value,
                      const data_summary& summary) {
  check_statistics checks = check_monoid{summary.columns}.identity();
  checks.rows = summary.rows;
  checks.positive_rows = summary.positive_rows;
  checks.weight = summary.total_weight;
  checks.largest_weight = summary.largest_weight;
  checks.mean = summary.mean;
  checks.second_moment = summary.variance;
  for (double& second : checks.second_moment) second *= summary.total_weight;
  checks.minimum = summary.minimum;
  checks.maximum = summary.maximum;
  made.columns = summary.columns;
  made.sums.rows = made.checks.rows = {{0, summary.rows}};
  made.sums.loose = std::move(value);
  made.checks.loose = std::move(checks);
}

/// Places are of the host's cut: a GPU cuts rows in another way.
inline void refuse_part_on_device(const row_part& part) {
  if (part.total == 0) return;
  throw bad_argument(
      "a part of more rows is summed on the host: choose the device cpu, or leave the part out and add the statistics "
      "up "
      "(they agree up to rounding)");
}

/// a and b together. Throws bad_argument where they do not belong together or share rows.
template <class Monoid>
partial_statistics<Monoid> combined(const partial_statistics<Monoid>& a, const partial_statistics<Monoid>& b) {
  require_same(a.identity, b.identity, a.sums.total, b.sums.total, "combined");
  partial_statistics<Monoid> made = a;
  combine_into(made.monoid, made.sums, b.sums);
  combine_into(check_monoid{made.columns}, made.checks, b.checks);
  return made;
}

/// a without b, whose rows a holds; places are lost. `take_out(from, what)` subtracts a value.
template <class Monoid, class TakeOut>
partial_statistics<Monoid> subtracted(const partial_statistics<Monoid>& a, const partial_statistics<Monoid>& b,
                                      const TakeOut& take_out) {
  require_same(a.identity, b.identity, 0, 0, "subtracted");
  if (b.rows() > a.rows()) {
    throw bad_argument(
        fmt::format("statistics of {} rows cannot be taken out of those of {} rows", b.rows(), a.rows()));
  }
  partial_statistics<Monoid> made = a;
  made.sums = without_places(a.monoid, a.sums);
  made.checks = without_places(check_monoid{a.columns}, a.checks);
  take_out(*made.sums.loose, b.total());
  check_statistics& left = *made.checks.loose;
  const check_statistics out = b.checked();
  const double weight = std::max(left.weight - out.weight, 0.0);
  for (std::size_t j = 0; j < a.columns && weight > 0; ++j) {
    const double mean = left.mean[j] + (left.mean[j] - out.mean[j]) * (out.weight / weight);
    const double apart = out.mean[j] - mean;
    left.second_moment[j] = std::max(
        left.second_moment[j] - out.second_moment[j] - apart * apart * weight * (out.weight / left.weight), 0.0);
    left.mean[j] = mean;
  }
  left.weight = weight;
  left.rows -= out.rows;
  left.positive_rows -= std::min(left.positive_rows, out.positive_rows);
  made.sums.rows = made.checks.rows = {{0, left.rows}};
  return made;
}

/// A weight after a subtraction: what rounding leaves below zero is zero. Throws bad_argument for more.
inline double weight_left(double before, double out) {
  const double left = before - out;
  if (left >= 0) return left;
  if (left >= -1e-9 * before) return 0;
  throw bad_argument(fmt::format("statistics that weigh {} cannot be taken out of those that weigh {}", out, before));
}

/// The power of two between the caller's weights and those that fits fold.
inline double fold_scale(const check_statistics& checks) { return weight_scale(checks.largest_weight); }

/// Rows where parts can be cut so that sums and checks merge to the bits of one fold: between lanes of both, as near to
/// equal parts as these allow. From 0 to `rows`.
template <class Monoid>
std::vector<std::size_t> cuts_of(const Monoid& monoid, std::size_t rows, std::size_t columns, std::size_t scalar_bytes,
                                 std::size_t parts) {
  if (rows == 0) throw bad_argument("there are no rows to cut into parts");
  if (parts == 0) throw bad_argument("rows are cut into at least 1 part; got 0");
  if (scalar_bytes != 4 && scalar_bytes != 8) {
    throw bad_argument(fmt::format("a scalar has 4 or 8 bytes; got {}", scalar_bytes));
  }
  const fold_plan sums = make_fold_plan({rows, columns, scalar_bytes, monoid.bytes()});
  const fold_plan checks = make_fold_plan({rows, columns, scalar_bytes, check_monoid{columns}.bytes()});
  std::vector<std::size_t> common;
  for (std::size_t lane = 1, other = 0; lane < sums.lanes; ++lane) {
    const std::size_t row = sums.first_row(lane);
    while (other < checks.lanes && checks.first_row(other) < row) ++other;
    if (other < checks.lanes && checks.first_row(other) == row) common.push_back(row);
  }
  std::vector<std::size_t> cuts{0};
  for (std::size_t part = 1; part < parts; ++part) {
    const double wanted = static_cast<double>(rows) * static_cast<double>(part) / static_cast<double>(parts);
    std::size_t best = 0;
    for (const std::size_t row : common) {
      if (std::abs(static_cast<double>(row) - wanted) < std::abs(static_cast<double>(best) - wanted)) best = row;
    }
    if (best > cuts.back()) cuts.push_back(best);
  }
  cuts.push_back(rows);
  return cuts;
}

}  // namespace shoal
