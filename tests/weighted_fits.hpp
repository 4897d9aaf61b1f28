// What weights promise, asked of every family: their unit does not matter, their scalar does not, and a row that weighs
// nothing is as if it were absent.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <shoal/io/io.hpp>

namespace weighted_fits {

/// Of one fit: numbers that follow from the rows alone, and the sum of their weights.
struct answer {
  std::vector<double> numbers;
  double total_weight = 0;
};

/// Three clusters of float32 rows in two columns, and weights 1, 2, 3, 4.
struct table {
  std::vector<float> rows;
  std::vector<double> weights;

  explicit table(std::size_t count = 240) {
    std::uint64_t state = 3;
    const auto uniform = [&] {
      state = state * 6364136223846793005u + 1442695040888963407u;
      return static_cast<double>(state >> 11) * 0x1p-53;
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        rows.push_back(
            static_cast<float>(10.0 * static_cast<double>(i % 3) * (j == 0 ? 1 : -0.5) + uniform() + uniform()));
      }
      weights.push_back(static_cast<double>(1 + i % 4));
    }
  }

  void add(float x, float y, double weight) {
    rows.insert(rows.end(), {x, y});
    weights.push_back(weight);
  }
  std::size_t count() const { return weights.size(); }
};

/// Fits with Scalar rows and weights in WeightScalar; `fit` is answer(const row_source<Scalar>&, row_weights).
template <class Scalar, class WeightScalar, class Fit>
answer fitted(const table& data, double factor, const Fit& fit) {
  const std::vector<Scalar> rows(data.rows.begin(), data.rows.end());
  std::vector<WeightScalar> weights;
  for (const double weight : data.weights) weights.push_back(static_cast<WeightScalar>(weight * factor));
  const shoal::view_source<Scalar> source({rows.data(), data.count(), 2});
  const shoal::view_source<WeightScalar> weight_source({weights.data(), data.count(), 1});
  return fit(static_cast<const shoal::row_source<Scalar>&>(source), shoal::row_weights(&weight_source));
}

inline void expect_near(const answer& got, const answer& expected, double tolerance, const std::string& of) {
  ASSERT_EQ(got.numbers.size(), expected.numbers.size()) << of;
  for (std::size_t i = 0; i < got.numbers.size(); ++i) {
    EXPECT_NEAR(got.numbers[i], expected.numbers[i], tolerance * (1 + std::abs(expected.numbers[i])))
        << of << ": " << i;
  }
}

/// The weights' unit and scalar do not matter: float64 weights of float32 rows far outside float32's range.
template <class Fit>
void expect_any_unit(const Fit& fit) {
  const table data;
  const answer once = fitted<float, float>(data, 1, fit);
  const auto same = [&](const answer& got, double factor) {
    EXPECT_EQ(got.numbers, once.numbers) << factor;
    EXPECT_DOUBLE_EQ(got.total_weight, once.total_weight * factor) << factor;
  };
  for (const double factor : {1.0, 0x1p130, 0x1p-200, 0x1p-146, 0x1p30, 0x1p900, 0x1p-1000}) {
    same(fitted<float, double>(data, factor, fit), factor);
  }
  same(fitted<float, float>(data, 0x1p-140, fit), 0x1p-140);
  for (const double factor : {1e39, 1e-60, 1e-44}) {
    const answer got = fitted<float, double>(data, factor, fit);
    expect_near(got, once, 1e-4, std::to_string(factor));
    EXPECT_NEAR(got.total_weight, once.total_weight * factor, 1e-12 * once.total_weight * factor) << factor;
  }
  // In float64 rows, weights of both scalars.
  const answer wide = fitted<double, double>(data, 1, fit);
  EXPECT_EQ((fitted<double, float>(data, 1, fit)).numbers, wide.numbers);
  EXPECT_EQ((fitted<double, double>(data, 0x1p-1000, fit)).numbers, wide.numbers);
}

/// Counts that float32 does not hold add up in float64.
template <class Fit>
void expect_exact_counts(const Fit& fit) {
  table data;
  for (double& weight : data.weights) weight = 16777217;
  EXPECT_EQ((fitted<float, double>(data, 1, fit)).total_weight, 16777217.0 * static_cast<double>(data.count()));
}

/// Rows of weight zero behind the others change nothing, wherever they lie.
template <class Fit>
void expect_absent(const Fit& fit, const std::string& of) {
  const table data;
  for (const float where : {3.0F, 1e6F, -1e15F, 1e19F, 3e38F}) {
    table more = data;
    for (int i = 0; i < 9; ++i) more.add(i % 2 == 0 ? where : -where, where / 2, 0);
    const std::string name = of + " with rows of weight zero at " + std::to_string(where);
    expect_near(fitted<float, float>(more, 1, fit), fitted<float, float>(data, 1, fit), 1e-4, name);
    expect_near(fitted<float, double>(more, 1e-60, fit), fitted<float, float>(data, 1, fit), 1e-4, name);
    expect_near(fitted<double, double>(more, 1, fit), fitted<double, double>(data, 1, fit), 1e-9, name);
  }
}

/// The same, of float64 rows that lie farther away than float32 can say.
template <class Fit>
void expect_absent_in_float64(const Fit& fit, const std::string& of) {
  const table data;
  const auto with = [&](double where) {
    std::vector<double> rows(data.rows.begin(), data.rows.end()), weights = data.weights;
    for (int i = 0; i < 5 && where != 0; ++i) {
      rows.insert(rows.end(), {i % 2 == 0 ? where : -where, where});
      weights.push_back(0);
    }
    const shoal::view_source<double> source({rows.data(), weights.size(), 2}),
        weight_source({weights.data(), weights.size(), 1});
    return fit(static_cast<const shoal::row_source<double>&>(source), shoal::row_weights(&weight_source));
  };
  for (const double where : {1e100, 1e160, 1e308}) expect_near(with(where), with(0), 1e-9, of);
}

}  // namespace weighted_fits
