// The flat form of the statistics of every family: written word by word, and read with every word checked.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include <fmt/format.h>

#include <shoal/core/error.hpp>
#include <shoal/estimation/check_statistics.hpp>
#include <shoal/estimation/partial_statistics.hpp>
#include <shoal/estimation/statistics_words.hpp>
#include <shoal/execution/partial_fold.hpp>
#include <shoal/execution/plan.hpp>

namespace shoal {

template <class Monoid>
void put_fold(statistics_writer& out, const Monoid& monoid, const partial_fold<Monoid>& fold) {
  out.put(fold.total);
  out.put(fold.lanes);
  out.put(fold.rows.size());
  for (const row_range& range : fold.rows) {
    out.put(range.first);
    out.put(range.end);
  }
  out.put(fold.subtrees.size());
  for (const auto& each : fold.subtrees) {
    out.put(each.lanes.first);
    out.put(each.lanes.end);
    out.put(to_bytes(monoid, each.value));
  }
  out.put(std::uint64_t{fold.loose.has_value()});
  if (fold.loose) out.put(to_bytes(monoid, *fold.loose));
}

/// `check(value)` says in words what is wrong with a value, or nothing.
template <class Monoid, class Check>
partial_fold<Monoid> take_fold(statistics_reader& in, const Monoid& monoid, std::size_t columns, const Check& check) {
  partial_fold<Monoid> fold;
  fold.total = in.take(std::numeric_limits<std::uint64_t>::max() >> 16, "rows");
  fold.lanes = in.take(most_lanes, "lanes");
  const fold_plan plan = make_fold_plan({fold.total, columns, in.identity().scalar_bytes, monoid.bytes()});
  if (fold.lanes != (fold.total == 0 ? 0 : plan.lanes)) {
    in.refuse(fmt::format("{} rows are cut into {} lanes there and {} here", fold.total, fold.lanes, plan.lanes));
  }
  const std::size_t most_rows = std::numeric_limits<std::uint64_t>::max() >> 16;
  const std::size_t ranges = in.take(fold.total == 0 ? 1 : in.left() / 2, "runs of rows");
  if (ranges == 0) in.refuse("they have no rows");
  for (std::size_t i = 0, end = 0; i < ranges; ++i, end = fold.rows.back().end) {
    const std::size_t first = in.take(), last = in.take(fold.total == 0 ? most_rows : fold.total, "rows");
    const bool ordered = i == 0 ? true : first > end;
    if (!ordered || first >= last || (fold.total == 0 && first != 0)) in.refuse("their runs of rows are out of order");
    fold.rows.push_back({first, last});
  }
  const auto value = [&] {
    typename Monoid::value_type made = monoid.identity();
    try {
      from_bytes(monoid, in.take_bytes(), made);
    } catch (const bad_data&) {
      in.refuse("a value has not the shape that they say");
    }
    if (const std::string wrong = check(made); !wrong.empty()) in.refuse(wrong);
    return made;
  };
  const std::size_t subtrees = in.take(fold.lanes, "merged lanes");
  std::size_t in_lanes = 0;
  for (std::size_t i = 0, end = 0; i < subtrees; ++i, end = fold.subtrees.back().lanes.end) {
    const lane_range lanes{in.take(fold.lanes, "lanes"), in.take(fold.lanes, "lanes")};
    std::size_t step = 1;
    while (lanes.first + step < lanes.end) step *= 2;
    if (lanes.first < end || lanes.first >= lanes.end || lanes.first % step != 0 ||
        lanes.end != std::min(lanes.first + step, fold.lanes)) {
      in.refuse("their merged lanes are no nodes of the tree");
    }
    const row_range rows{plan.first_row(lanes.first), plan.end_row(lanes.end - 1)};
    bool held = false;
    for (const row_range& range : fold.rows) held = held || (range.first <= rows.first && rows.end <= range.end);
    if (!held) in.refuse("they merge lanes whose rows they do not hold");
    in_lanes += rows.end - rows.first;
    fold.subtrees.push_back({lanes, value()});
  }
  const bool loose = in.take(1, "values between lanes") == 1;
  if (loose != (fold.count() > in_lanes)) in.refuse("their rows and their values do not match");
  if (loose) fold.loose = value();
  return fold;
}

/// What is wrong with the numbers of a value: `sums` must be finite, and `weights` not negative either.
inline std::string wrong_numbers(std::span<const double> sums, std::span<const double> weights) {
  for (const double sum : sums) {
    if (!std::isfinite(sum)) return fmt::format("a sum is {}; it must be finite", sum);
  }
  for (const double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return fmt::format("a weight is {}; it must be finite and not negative", weight);
    }
  }
  return {};
}

inline std::string wrong_checks(const check_statistics& value, std::size_t columns) {
  for (const auto* part : {&value.mean, &value.second_moment, &value.minimum, &value.maximum}) {
    if (part->size() != columns) return "a value has not the shape that they say";
  }
  if (value.bad_row != no_bad_row || value.bad_weight != no_bad_row || value.positive_rows > value.rows ||
      !(value.largest_weight > 0 || value.weight == 0)) {
    return "what they say of their rows cannot be";
  }
  const double weights[] = {value.weight, value.largest_weight};
  if (std::string wrong = wrong_numbers(value.mean, weights); !wrong.empty()) return wrong;
  return wrong_numbers({}, value.second_moment);
}

template <class Monoid>
std::string write_statistics(const partial_statistics<Monoid>& statistics) {
  statistics_writer out(statistics.identity);
  out.put(std::as_bytes(std::span<const double>(statistics.centre)));
  put_fold(out, statistics.monoid, statistics.sums);
  put_fold(out, check_monoid{statistics.columns}, statistics.checks);
  return out.finish();
}

/// Fills `made`, whose identity, columns and monoid are those of `in`; `centred` when sums have a centre of their own.
template <class Monoid, class Check>
void take_statistics(statistics_reader& in, partial_statistics<Monoid>& made, bool centred, const Check& check) {
  made.identity = in.identity();
  const std::span<const std::byte> centre = in.take_bytes();
  if (centre.size() != (centred ? made.columns * sizeof(double) : 0)) in.refuse("their centre has not as many columns");
  made.centre.resize(centre.size() / sizeof(double));
  if (!centre.empty()) std::memcpy(made.centre.data(), centre.data(), centre.size());
  if (const std::string wrong = wrong_numbers(made.centre, {}); !wrong.empty()) in.refuse(wrong);
  made.sums = take_fold(in, made.monoid, made.columns, check);
  const std::size_t columns = made.columns;
  made.checks = take_fold(in, check_monoid{columns}, columns,
                          [columns](const check_statistics& value) { return wrong_checks(value, columns); });
  in.expect_end();
  if (made.checks.total != made.sums.total || made.checks.count() != made.sums.count() ||
      made.checked().rows != made.rows()) {
    in.refuse("their rows and their values do not match");
  }
}

}  // namespace shoal
