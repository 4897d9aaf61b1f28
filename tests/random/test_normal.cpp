// Both normal samplers against the normal distribution, in the middle and in the tails; exponential draws.
#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <shoal/random/exponential.hpp>
#include <shoal/random/normal.hpp>

#include "statistics.hpp"

namespace {

using namespace shoal::random;
using namespace shoal::testing;

constexpr std::size_t draws = 1000000;

std::vector<double> normals(normal_method method, std::uint64_t seed) {
  stream bits(seed, 0);
  std::vector<double> values(draws);
  for (double& value : values) value = normal(bits, method);
  return values;
}

class Normal : public ::testing::TestWithParam<normal_method> {};

TEST_P(Normal, HasTheMomentsAndTheDistribution) {
  const auto values = normals(GetParam(), 1);
  EXPECT_LT(moments_deviation(values, 0, 1, 0, 3), 5);
  EXPECT_GT(ks_test(values, normal_cdf), least_p_value);
  EXPECT_GT(equal_cells_test(values, normal_cdf, 2000), least_p_value);
}

// Beyond the last layer of the ziggurat: 258 draws of a million, on both sides, of the right shape.
TEST_P(Normal, HasTheRightTails) {
  const double start = ziggurat_table::tail_start;
  std::vector<double> tail;
  int positive = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    for (const double value : normals(GetParam(), seed))
      if (std::abs(value) > start) {
        tail.push_back(std::abs(value));
        positive += value > 0;
      }
  const double probability = std::erfc(start / std::sqrt(2.0));
  const double expected = 4.0 * draws * probability;
  EXPECT_NEAR(static_cast<double>(tail.size()), expected, 5 * std::sqrt(expected));
  EXPECT_NEAR(positive, expected / 2, 5 * std::sqrt(expected / 2));
  EXPECT_GT(ks_test(tail, [&](double x) { return 1 - std::erfc(x / std::sqrt(2.0)) / probability; }), least_p_value);
}

// A failure of the wedges or of a quick bound would show in the fine structure near zero and near the layers' edges.
TEST_P(Normal, IsRightInAFineGridOfCells) {
  const auto values = normals(GetParam(), 9);
  std::vector<std::size_t> counts(602);
  std::vector<double> probabilities(602);
  for (const double value : values)
    ++counts[static_cast<std::size_t>(std::clamp(std::floor(value * 100) + 301, 0.0, 601.0))];
  for (int i = 0; i < 602; ++i)
    probabilities[i] = (i == 601 ? 1 : normal_cdf((i - 300) / 100.0)) - (i == 0 ? 0 : normal_cdf((i - 301) / 100.0));
  EXPECT_GT(chi_squared_test(counts, probabilities), least_p_value);
}

TEST_P(Normal, SuccessiveDrawsAreIndependent) {
  const auto values = normals(GetParam(), 3);
  const std::span<const double> all(values);
  std::vector<double> squares(values);
  for (double& value : squares) value *= value;
  EXPECT_LT(std::abs(correlation(all.first(draws - 1), all.subspan(1))), 5 / std::sqrt(double(draws)));
  const std::span<const double> squared(squares);
  EXPECT_LT(std::abs(correlation(squared.first(draws - 1), squared.subspan(1))), 5 / std::sqrt(double(draws)));
}

// Negative control: a standard deviation wrong by 1.5 %, and a ziggurat that forgets its tail, are seen.
TEST_P(Normal, TheTestsHavePower) {
  auto values = normals(GetParam(), 1);
  for (double& value : values) value *= 1.015;
  EXPECT_LT(ks_test(values, normal_cdf), 1e-6);
  EXPECT_LT(equal_cells_test(values, normal_cdf, 2000), 1e-6);
  EXPECT_GT(moments_deviation(values, 0, 1, 0, 3), 5);
  values = normals(GetParam(), 1);
  for (double& value : values) value = std::clamp(value, -3.0, 3.0);
  EXPECT_GT(moments_deviation(values, 0, 1, 0, 3), 5);
}

INSTANTIATE_TEST_SUITE_P(Methods, Normal, ::testing::Values(normal_method::ratio_of_uniforms, normal_method::ziggurat),
                         [](const auto& instance) {
                           return instance.param == normal_method::ziggurat ? "Ziggurat" : "RatioOfUniforms";
                         });

TEST(Ziggurat, LayersHaveEqualAreaAndCloseAtTheTop) {
  constexpr std::size_t layers = ziggurat_table::layers;
  const double tail = std::sqrt(std::acos(-1.0) / 2) * std::erfc(ziggurat_table::tail_start / std::sqrt(2.0));
  EXPECT_NEAR(ziggurat.edge[1] * ziggurat.height[1] + tail, ziggurat_table::layer_area, 1e-17);
  EXPECT_NEAR(ziggurat.edge[0] * ziggurat.height[1], ziggurat_table::layer_area, 1e-17);
  for (std::size_t i = 1; i < layers; ++i) {
    EXPECT_NEAR(ziggurat.height[i], std::exp(-0.5 * ziggurat.edge[i] * ziggurat.edge[i]), 1e-15) << i;
    EXPECT_LT(ziggurat.edge[i + 1], ziggurat.edge[i]);
    // The last one closes only if the root and the area are right to the last digit.
    EXPECT_NEAR(ziggurat.edge[i] * (ziggurat.height[i + 1] - ziggurat.height[i]), ziggurat_table::layer_area, 1e-14)
        << i;
  }
}

// People write seeds down, so what a seed draws may not drift with the compiler, the platform or a later version.
TEST(Normal, TheFirstDrawsOfASeedStay) {
  stream ziggurat_bits(42, 0), ratio_bits(42, 0);
  for (const double expected : {0x1.beba766d773ebp+0, 0x1.ae0448a293c12p-1, 0x1.80c4c2d32b9d9p+0, 0x1.8212564986825p+0})
    EXPECT_EQ(normal_by_ziggurat(ziggurat_bits), expected);
  for (const double expected :
       {-0x1.2a4cc3a019685p-1, -0x1.eac0fa8dd06e3p-3, 0x1.6d06ffedae78ap-1, -0x1.3c9f36e881388p-2})
    EXPECT_EQ(normal_by_ratio_of_uniforms(ratio_bits), expected);
}

TEST(Exponential, HasTheMomentsAndTheDistribution) {
  stream bits(5, 0);
  std::vector<double> values(draws);
  for (double& value : values) value = exponential(bits);
  const auto cdf = [](double x) { return -std::expm1(-x); };
  EXPECT_LT(moments_deviation(values, 1, 1, 2, 9), 5);
  EXPECT_GT(ks_test(values, cdf), least_p_value);
  EXPECT_GT(equal_cells_test(values, cdf, 1000), least_p_value);
  for (double& value : values) value *= 1.01;
  EXPECT_LT(ks_test(values, cdf), 1e-4);
}

}  // namespace
