// What `shoal data info` folds with keeps the laws of folding.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "../statistics_laws.hpp"
#include "data/column_statistics.hpp"

namespace {

using shoal::app::column_statistics;
using columns_value = std::vector<column_statistics>;

bool same(const column_statistics& a, const column_statistics& b) {
  return a.weight == b.weight && a.mean == b.mean && a.squares == b.squares && a.minimum == b.minimum &&
         a.maximum == b.maximum && a.not_finite == b.not_finite;
}

statistics_laws::column_moments moments_of(const column_statistics& value) {
  return {value.weight, value.mean, value.squares};
}

auto structure_of(std::size_t columns) {
  const auto all_same = [](const columns_value& a, const columns_value& b) { return std::ranges::equal(a, b, same); };
  const auto close = [](const columns_value& left, const columns_value& right,
                        shoal::algebra::operands_of<columns_value> operands) {
    for (std::size_t j = 0; j < left.size(); ++j) {
      if (left[j].minimum != right[j].minimum || left[j].maximum != right[j].maximum ||
          left[j].not_finite != right[j].not_finite) {
        return false;
      }
      std::vector<statistics_laws::column_moments> parts;
      for (const columns_value& operand : operands) parts.push_back(moments_of(operand[j]));
      if (!statistics_laws::moments_agree(moments_of(left[j]), moments_of(right[j]), parts)) return false;
    }
    return true;
  };
  return statistics_laws::structure(shoal::app::columns_monoid{columns}, all_same, close);
}

columns_value sample(std::size_t rows, double offset, double weight) {
  columns_value value(2);
  for (std::size_t i = 0; i < rows; ++i) {
    value[0].add(offset + std::sin(static_cast<double>(i)), weight);
    value[1].add(i % 5 == 2 ? std::numeric_limits<double>::quiet_NaN() : 1e-6 * static_cast<double>(i), weight);
  }
  return value;
}

TEST(ColumnStatistics, AreACommutativeMonoid) {
  const auto structure = structure_of(2);
  const std::vector<columns_value> samples{structure.identity(),   sample(1, 0, 1),     sample(700, 0, 1),
                                           sample(30, 1e6, 1e-30), sample(50, 0, 1e30), sample(60, -1e6, 1),
                                           sample(20, 1e30, 1),    sample(9, 5, 0)};
  const auto report = shoal::algebra::check_commutative_monoid(structure, samples);
  EXPECT_TRUE(report.passed()) << report.message();
  statistics_laws::expect_reset(structure, samples);
}

TEST(ColumnStatistics, OfHugeValuesHaveAnIdentity) {
  // Squares of the values overflow; those of their differences do not.
  columns_value huge(1);
  for (std::size_t i = 0; i < 20; ++i) huge[0].add(1e160 + 1e150 * std::sin(static_cast<double>(i)), 1);
  const auto structure = structure_of(1);
  const auto report = shoal::algebra::check_monoid(structure, std::vector<columns_value>{structure.identity(), huge});
  EXPECT_TRUE(report.passed()) << report.message();
}

}  // namespace
