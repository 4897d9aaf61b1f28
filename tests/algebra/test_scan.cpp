// Scans: prefixes, in place and elsewhere, with the same bits for every runner.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/algebra/algebra.hpp>
#include <shoal/execution/runner.hpp>

#include "runners.hpp"

namespace {

using namespace shoal::algebra;

TEST(Scan, IsTheReductionOfEachPrefix) {
  for (const std::size_t count : {0, 1, 2, 1023, 1024, 1025, 3001}) {
    std::vector<std::string> words(count);
    for (std::size_t i = 0; i < count; ++i) words[i] = std::string(1, static_cast<char>('a' + i % 26));
    const auto scan = inclusive_scan(concatenation{}, words);
    const auto before = exclusive_scan(concatenation{}, words, backwards_on_threads{2});
    ASSERT_EQ(scan.size(), count);
    ASSERT_EQ(before.size(), count);
    std::string prefix;
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(before[i], prefix);
      prefix += words[i];
      ASSERT_EQ(scan[i], prefix);
    }
  }
  std::vector<bool> flags(3000);
  flags[1500] = true;
  const auto seen = inclusive_scan(disjunction{}, flags, backwards_on_threads{2});
  const auto seen_before = exclusive_scan(disjunction{}, flags, backwards_on_threads{2});
  for (std::size_t i = 0; i < flags.size(); ++i) ASSERT_EQ(seen[i], i >= 1500);
  for (std::size_t i = 0; i < flags.size(); ++i) ASSERT_EQ(seen_before[i], i > 1500);
}

// The order that the documentation states, written down once more.
template <class Structure>
std::vector<value_of<Structure>> by_blocks(const Structure& structure, const std::vector<value_of<Structure>>& values,
                                           bool inclusive) {
  using value = value_of<Structure>;
  constexpr std::size_t group = 8, block = 1024;
  std::vector<value> result;
  std::optional<value> blocks, before;
  const auto behind = [&](const std::optional<value>& left, const value& right) {
    return left ? combine(structure, *left, right) : right;
  };
  for (std::size_t first = 0; first < values.size(); first += group) {
    if (first % block == 0) {
      if (first > 0) blocks = behind(blocks, reduce(structure, std::span(values).subspan(first - block, block)));
      before = blocks;
    }
    std::optional<value> within;
    for (std::size_t i = first; i < std::min(first + group, values.size()); ++i) {
      const value with = within ? combine(structure, *within, values[i]) : values[i];
      if (inclusive) {
        result.push_back(behind(before, with));
      } else {
        result.push_back(within ? behind(before, *within) : before.value_or(structure.identity()));
      }
      within = with;
    }
    before = behind(before, *within);
  }
  return result;
}

template <class Structure>
void expect_stated_order(const Structure& structure, const std::vector<value_of<Structure>>& all) {
  const auto pool = shoal::make_threads(3);
  for (const std::size_t count : {0, 1, 2, 7, 8, 9, 1023, 1024, 1025, 2048, 5119, 5120, 20001, 50000}) {
    const std::vector<value_of<Structure>> values(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    const auto inclusive = by_blocks(structure, values, true), exclusive = by_blocks(structure, values, false);
    const auto everywhere = [&](const auto& run) {
      ASSERT_EQ(inclusive_scan(structure, values, run), inclusive);
      ASSERT_EQ(exclusive_scan(structure, values, run), exclusive);
      std::vector<value_of<Structure>> elsewhere(count), here = values;
      inclusive_scan_into(structure, values, elsewhere, run);
      ASSERT_EQ(elsewhere, inclusive);
      inclusive_scan_in_place(structure, here, run);
      ASSERT_EQ(here, inclusive);
      exclusive_scan_into(structure, values, elsewhere, run);
      ASSERT_EQ(elsewhere, exclusive);
      here = values;
      exclusive_scan_in_place(structure, here, run);
      ASSERT_EQ(here, exclusive);
    };
    everywhere(in_order{});
    everywhere(backwards_on_threads{3});
    everywhere(shoal::runner(*pool));
  }
}

TEST(Scan, HasOneOrderWhoeverRunsIt) {
  std::vector<double> values(50000);
  std::vector<affine_map<double>> maps(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(std::sin(static_cast<double>(i)), static_cast<int>(i % 40));
    maps[i] = {std::cos(static_cast<double>(i)), values[i]};
  }
  expect_stated_order(real_addition<double>{}, values);
  expect_stated_order(affine_maps<reals<double>>{}, maps);
}

// Longer than what is summed before its results are written.
TEST(Scan, ChainsSpans) {
  const affine_maps<integers<std::uint64_t>> composition;
  std::vector<affine_map<std::uint64_t>> maps(1200001);
  for (std::size_t i = 0; i < maps.size(); ++i) maps[i] = {2 * i + 1, i * i};
  const auto scan = inclusive_scan(composition, maps);
  const auto pool = shoal::make_threads(3);
  ASSERT_EQ(inclusive_scan(composition, maps, shoal::runner(*pool)), scan);
  exclusive_scan_in_place(composition, maps, backwards_on_threads{3});
  ASSERT_EQ(maps[0], composition.identity());
  ASSERT_TRUE(std::equal(maps.begin() + 1, maps.end(), scan.begin()));
}

TEST(Scan, SolvesARecurrence) {
  const affine_maps<integers<std::uint64_t>> maps;
  std::vector<affine_map<std::uint64_t>> steps(5000);
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = {2 * i + 1, i * i};
  const auto scan = inclusive_scan(maps, steps);
  std::uint64_t x = 7;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    x = steps[i].slope * x + steps[i].offset;
    ASSERT_EQ(maps.apply(scan[i], 7), x);
  }
}

TEST(Scan, RefusesResultsOfAnotherSize) {
  const std::vector<int> values(5);
  std::vector<int> result(4);
  EXPECT_THROW(inclusive_scan_into(integer_addition<int>{}, values, result), shoal::bad_argument);
  EXPECT_THROW(exclusive_scan_into(integer_addition<int>{}, values, result), shoal::bad_argument);
}

}  // namespace
